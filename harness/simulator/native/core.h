// The counting core: a Unicorn Cortex-M33 whose number of executed instructions is exact at every
// moment.
//
// A file includes only headers of files that stand above it:
//   unicorn.h, memory, thumb    Unicorn's interface, the address space, instructions
//   nvic, mpu, scb.h, registers  registers: of the processor's blocks, of devices
//   core        this structure; registers, counts, limits
//   state       registers that Unicorn's interface does not show
//   protection  the MPU in force
//   attribution  SAU, IDAU and SPU: which state an address belongs to
//   priority    masks and priorities: may a pending exception be taken?
//   security    the security state that runs, and the change to the other one
//   fault, frame  which exception a fault becomes; memory of frames
//   fpu         floating-point contexts that are stacked later
//   exception   entry and return
//   uarte, rtc  bytes that UARTEs send; events of RTCs
//   events      what happens by itself: both of them
//   idle, count  loops that can change nothing; blocks: each instruction is counted
//   calls       instructions by call stack
//   scs, access  accesses that Unicorn's page rights refuse
//   emulate     one run of Unicorn, to an exact instruction
//   operands, alignment  addresses and divisors; those that are refused
//   instructions  those that the core carries out itself
//   run         runs until the machine must do something
//   binding, *_methods, profile  the Python types
#ifndef HARNESS_SIMULATOR_NATIVE_CORE_H_
#define HARNESS_SIMULATOR_NATIVE_CORE_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "mpu.h"
#include "nvic.h"
#include "registers.h"
#include "scb.h"
#include "unicorn.h"

// Why Unicorn stopped, or why run() returned, which deals with most of them itself.
enum {
  REASON_NONE = 0,
  REASON_BUDGET = 1,      // `stop_at` instructions are executed, or the wall time is used up
  REASON_EXCEPTION = 2,   // Unicorn raised exception number `exception`
  REASON_SPECIAL = 3,     // stands before an instruction that Unicorn must not run
  REASON_UNMASKED = 4,    // a pending exception can be taken now
  REASON_MEMORY = 5,      // an access was refused
  REASON_DEVICE = 6,      // stands after the instruction whose access ends the run
  REASON_ERROR = 7,       // Unicorn error `error` that none of the above explains
  REASON_BREAKPOINT = 8,  // stands before an instruction with a breakpoint
  REASON_HALTED = 9,      // sleeps, or is locked up
  REASON_OPERANDS = 10,   // stands before an instruction whose operands may be refused
  REASON_BKPT = 11,       // stands before a BKPT, and a debugger is there
  REASON_CUT = 100,       // the block must be cut
  REASON_REPLAY = 101,    // an access took effect; finish its instruction, then stop
  REASON_SYNC = 102,      // changes of the MPU must be put in force before the next block
};
// Does the core sleep, and in which instruction?
enum { AWAKE, SLEEP_WFI, SLEEP_WFE };
// Bits of CONTROL.
enum { NPRIV = 1, SPSEL = 2, FPCA = 4, SFPA = 8 };
#define NO_SPECIAL 0x1FFFu

// The last question to core_count_before(), and its answer.
typedef struct {
  uint32_t block, size, pc, generation, count;
} Counted;

// The block that runs; see count.c.
typedef struct {
  uint32_t again;  // address of a block that needs no second look, or 1
  uint32_t count;  // its instructions
  Slot *slot;
  uint32_t address, size;
  uint16_t generation;  // of decoded blocks; bit 0 is the security state
  uint16_t looks;       // what is looked at now: LOOK_OPERANDS, LOOK_FLOATING
  uint32_t sequential;  // where code goes on without a branch, 0 if not known
} Block;

// A part of a block that is run alone; see emulate.c.
typedef struct {
  bool running;
  bool single;     // one instruction, of an access that took effect
  uint32_t index;  // of the instruction before which a block must be cut
  uint32_t until;  // the address at which Unicorn stops
} Part;

// Virtual time is instructions, additional ticks of branches, and sleep.
typedef struct {
  long long executed;
  long long limit;    // once `executed` is above it, look_closer() has something to do
  long long charged;  // the part of `executed` that has been added to slots
  long long stop_at;  // value of `executed` at which Unicorn stops: `end_at`, or an event comes
  long long end_at;   // value of `executed` at which a run ends
  long long branches, slept;
  bool branch_ticks;    // a taken branch takes one more tick
  long long look_at;    // when to look at the clock and for an idle loop
  long long step;       // instructions between two such looks
  uint64_t wall;        // ns of the monotonic clock at which run() returns, 0 for never
  unsigned exceptions;  // taken, between two such looks
} Time;

// Byte offsets in a saved context, where Unicorn keeps the state that its interface does not show.
typedef struct {
  size_t registers;  // the first one that a snapshot keeps
  size_t system;     // the banked system registers of the M profile
  size_t end;        // first byte that a snapshot does not keep
} Layout;

typedef struct {
  void *handle;
  UnicornApi api;
  Layout layout;
  void *context;
  size_t context_bytes;
  void *on_access;  // the hook of accesses
} Unicorn;

// The processor: its registers, and the security state that runs.
typedef struct {
  Nvic *nvic;
  ScbBank *scb[2];  // of the secure, of the non-secure state
  ScbShared *shared;
  bool nonsecure;         // the security state; Unicorn's own is always secure
  bool nonsecure_frames;  // frames are as a non-secure image expects them that runs alone
  bool locked_up;
  bool debugged;           // DHCSR.C_DEBUGEN: BKPT halts
  bool interrupts_masked;  // DHCSR.C_MASKINTS: PendSV, SysTick and interrupts wait
  int sleeping;
  int other_priority;  // to which the masks of the other security state boost
  bool fp_allowed[2], fp_disabled;
  bool fp_lazy;  // a floating-point context is not stacked yet: FPCCR.LSPACT of either state
  int extras;    // EXTRA_LIMITS, EXTRA_EXCLUSIVE: ever used
} Cpu;

// The MPU in force; see protection.c.
typedef struct {
  Mpu *banks[2];     // of the secure, of the non-secure state
  Regions wanted;    // the firmware's MPU when it was last put in force
  Regions in_force;  // derived from it
  Regions folded;    // the same, folded, whether in force so or not
  Regions opened;    // what was in force unfolded since Unicorn last forgot all pages, if anything:
  bool was_opened;
  bool off;       // the firmware's MPU is off: nothing is refused
  bool negative;  // it was put in force for code of a priority below zero
  bool stale;     // changes wait for the next block
  bool device;    // it makes some of flash or RAM Device memory
  bool unfolded;  // unprivileged code uses its regions of data RAM
} Protection;

// Addresses that are non-secure callable.
typedef struct {
  uint32_t begin, end;
} Gateway;

// Memory with the same page rights throughout: those of secure, of non-secure code.
typedef struct {
  uint32_t base, size, rights[2];
  uint32_t full, in_force;  // without restrictions; as Unicorn has them
} Stretch;

enum { MAX_SPU_REGIONS = 64, MAX_GATEWAYS = 8, MAX_STRETCHES = 4 * MAX_SPU_REGIONS + MAX_AREAS };
// SAU, IDAU and SPU; see attribution.c.
typedef struct {
  bool divided;  // something is non-secure: the machine must decide about each access to a device
  bool restricted;                                  // accesses to memory may be refused
  bool idau_decides;                                // SAU_CTRL.ALLNS
  uint8_t permissions[MAX_AREAS][MAX_SPU_REGIONS];  // PERM of the SPU, by code area
  Gateway gateways[MAX_GATEWAYS];
  int gateway_count;
  Stretch stretches[MAX_STRETCHES];
  int stretch_count;
} Attribution;

// The fault that a refused access becomes: exception number, bits of CFSR or SFSR.
typedef struct {
  int cause;
  uint32_t status;
} Failure;

// A fault as it is taken, for the report. The registers are still those of the faulting code.
typedef struct {
  int cause, taken;  // exception numbers; taken: 0 for lockup
  uint32_t status, pc;
  const uint32_t *address;  // NULL if there is none
  bool stacking;            // of exception entry itself
} Fault;

// The access that Unicorn refuses; see access.c.
typedef struct {
  int type, size;
  uint32_t address, status;  // the status is Unicorn's
  Failure failure;           // why it was refused
  long long here;            // instructions executed before that of the access
  int count, skip;           // writes of this instruction; those that are done already
  unsigned total;            // those that are not just loads of registers
  unsigned others;           // `total` when a register was read last
  unsigned polls;            // such loads in a row
  bool aborting, shadowed;   // Unicorn finishes a block that is undone then
} Access;

// What ended a run of Unicorn.
typedef struct {
  int reason, exception, error;
  bool after;  // stop after this instruction
} Stop;

// A condition for entering a block: a sum of registers (operands.h) has none of some bits: it is a
// multiple of 4, or a value of BASEPRI. Of the first one of a block:
typedef struct {
  uint32_t sum, bits;
  uint16_t index;      // of the instruction that needs it
  uint16_t more : 15;  // how many there are
  uint16_t keeps : 1;  // they hold again at the end of the block
} Check;

// See alignment.c.
typedef struct {
  Check *checks;
  uint32_t count, kept;  // kept: those of code that does not change
  bool everywhere;       // a hook looks at every instruction
  bool divisions;        // hooks look at divisors
  bool trusted;          // the instruction has been looked at
  uint32_t from, until;  // code that must be translated again, if from < until
} Operands;

typedef struct {
  uint32_t *addresses;
  size_t count;
  uint32_t ignored;  // the one that the next block may start on
  bool ignoring;
} Breakpoints;

// Bytes that were sent and not collected yet, with the virtual time of each transfer.
enum { OUTBOX_CHUNKS = 1024 };
typedef struct {
  struct {
    long long tick;
    uint32_t size;
  } chunks[OUTBOX_CHUNKS];
  uint8_t bytes[65536];
  unsigned count;
  uint32_t used;
} Outbox;

enum { MAX_SENDERS = 4, MAX_RTCS = 4 };
// Registers of devices whose plain accesses the core answers.
typedef struct {
  Served served[MAX_SERVED];
  int count, last;
  Registers *channels;              // the DPPIC's
  Registers *sending[MAX_SENDERS];  // those of the UARTEs
  int senders;
  Registers *rtcs[MAX_RTCS];
  int rtc_count;
  Outbox outbox;
} Devices;

struct Core;
// The parts of the machine that the core calls. `failed`: one raised an exception.
typedef struct {
  void *owner;  // the Python object
  // The machine's answer to an access; false to refuse it.
  bool (*access)(struct Core *c, bool write, uint32_t address, int size, uint64_t value,
                 uint32_t *answer);
  // A fault is taken; the SPU refused an access to code area `area`.
  void (*fault)(struct Core *c, const Fault *fault);
  void (*violation)(struct Core *c, int area);
  // Called with bytes that are sent, or only with those that end a line.
  void (*sent)(struct Core *c, const uint8_t *bytes, uint32_t size);
  bool sends_lines;
  bool failed;
} Machine;

enum { IDLE_BLOCKS = 16 };
// A search for a loop that can change nothing; see idle.c.
typedef struct {
  bool skips;      // such loops are skipped
  bool may_stand;  // nothing is to come that could end a branch to itself
  bool stands;     // the core is before one: the run has ended
  bool watching;
  uint32_t hint;  // the search began before the hint at this address, 0: before a block
  uint32_t anchor;
  long long since;  // instructions executed when the anchor was first entered
  long long branches;
  unsigned accesses;
  void *context;
  int count;
  struct {
    Slot *slot;
    uint32_t instructions;
  } blocks[IDLE_BLOCKS];
} Idle;

enum { TRACE_BLOCKS = 256 };
// The last blocks that were entered.
typedef struct {
  uint32_t next;
  uint32_t blocks[TRACE_BLOCKS];
} Trace;

// See calls.c. A function of the tree; `next` is in its bucket.
typedef struct {
  uint32_t parent, function, next;
  uint64_t executed;
} CallNode;

// A function that runs: where it returns to, and sp at its entry.
typedef struct {
  uint32_t node, function, caller, sp;
} CallFrame;

enum { CALL_DEPTH = 256, CALL_THREADS = 64, CALL_EXCEPTIONS = 96, CALL_BUCKETS = 4096 };
typedef struct {
  CallFrame frames[CALL_DEPTH];
  int depth;
  uint32_t root;      // the node below which its functions are
  int below;          // of an exception: the stack that it interrupted
  uint32_t frame[2];  // of a thread that was interrupted: PSP and MSP below its frame
} CallStack;

typedef struct {
  CallStack stacks[CALL_THREADS + CALL_EXCEPTIONS];
  int current, threads;
  uint32_t exception;
  CallNode *nodes;
  uint32_t count, room, buckets[CALL_BUCKETS];
  uint32_t *functions[2];  // of flash, of RAM
  size_t function_counts[2];
  uint32_t last;  // the block that runs
  bool last_entry;
  long long charged;  // the part of `executed` that has been added to nodes
  void (*retire)(struct Core *c, uint32_t pc);  // core_retire() is called
} Calls;

typedef struct Core {
  Block block;  // count_block() needs it, time and memory
  Time time;
  Memory memory;
  Trace trace;
  Part part;
  Counted counted;
  Unicorn unicorn;
  Cpu cpu;
  Protection mpu;
  Attribution attribution;
  Access access;
  Stop stop;
  Breakpoints breakpoints;
  Operands operands;
  Devices devices;
  Machine machine;
  Idle idle;
  Calls *calls;  // NULL: nobody asks
} Core;

static inline long long core_now(const Core *c) {
  return c->time.executed + c->time.branches + c->time.slept;
}

uint32_t core_reg(Core *c, int id);
void core_set_reg(Core *c, int id, uint32_t value);
// Unicorn derives its mode from CONTROL and IPSR when the flags are written.
void core_refresh_mode(Core *c);
// Must be called after each change of a value that count_block() depends on.
void core_limit(Core *c);
// Stop at a tick, at the latest.
void core_stop_by(Core *c, long long tick);
// Python is about to be called, which takes long: look at the clock sooner.
void core_note_python(Core *c);
bool core_is_late(const Core *c);
void core_set_wall(Core *c, double seconds);
// Add the executed instructions to the slot of the current block.
void core_settle_charge(Core *c);
// Instructions of the current block that stand before `pc`.
uint32_t core_count_before(Core *c, uint32_t pc);
// Count one instruction that the core carried out itself.
void core_retire(Core *c, uint32_t pc);
// Code changed: decode it again.
void core_invalidate(Core *c);
bool core_is_breakpoint(const Core *c, uint32_t address);
// Call access_hook() from here on for accesses that the page rights refuse.
bool core_watch(Core *c, uint64_t from, uint64_t to);
bool core_watch_ram(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_CORE_H_
