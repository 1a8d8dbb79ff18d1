// The counting core: a Unicorn Cortex-M33 whose number of executed instructions is always exact.
//
// A file includes only headers of files above it in this list:
//   unicorn.h, memory, thumb    Unicorn's interface, the address space, instructions
//   nvic, mpu, scb.h, registers  registers: of the processor's blocks, of devices
//   core        this structure; registers, counts, limits
//   state       registers that Unicorn's interface does not show
//   protection  the MPU in force
//   attribution  SAU, IDAU and SPU: the security state of addresses
//   priority    masks and priorities: whether a pending exception can be taken
//   security    the current security state, and the change to the other one
//   fault, frame  the exception for a fault; memory of frames
//   fpu         floating-point contexts with lazy stacking
//   exception   entry and return
//   uarte, rtc  bytes that UARTEs send; events of RTCs
//   events      the next event of either
//   idle, count  loops without effect; blocks, whose instructions are counted
//   calls       instructions by call stack
//   scs, access  accesses that Unicorn's page rights refuse
//   emulate     one run of Unicorn, to an exact instruction
//   operands, alignment  addresses and divisors; their faults
//   instructions  those that the core carries out itself
//   run         runs until the machine must act
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

// Why Unicorn stopped; run() handles most of these itself and returns the others.
enum {
  REASON_NONE = 0,
  REASON_BUDGET = 1,      // `stop_at` instructions are executed, or the wall time is used up
  REASON_EXCEPTION = 2,   // Unicorn raised exception number `exception`
  REASON_SPECIAL = 3,     // before an instruction that Unicorn must not run
  REASON_UNMASKED = 4,    // a pending exception can be taken now
  REASON_MEMORY = 5,      // an access was refused
  REASON_DEVICE = 6,      // after an instruction whose access ends the run
  REASON_ERROR = 7,       // Unicorn error `error`, not explained by any of the above
  REASON_BREAKPOINT = 8,  // before an instruction with a breakpoint
  REASON_HALTED = 9,      // asleep, or locked up
  REASON_OPERANDS = 10,   // before an instruction whose operands may be refused
  REASON_BKPT = 11,       // before a BKPT, with a debugger
  REASON_STACK = 12,      // before the instruction with which a stack runs below its end first
  REASON_CUT = 100,       // the block must be cut
  REASON_REPLAY = 101,    // an access took effect; finish its instruction, then stop
  REASON_SYNC = 102,      // changes of the MPU must be put in force before the next block
};
// Whether the core sleeps, and in which instruction.
enum { AWAKE, SLEEP_WFI, SLEEP_WFE };
// Bits of CONTROL.
enum { NPRIV = 1, SPSEL = 2, FPCA = 4, SFPA = 8 };
#define NO_SPECIAL 0x1FFFu

// The last argument of core_count_before(), and its result.
typedef struct {
  uint32_t block, size, pc, generation, count;
} Counted;

// The current block; see count.c.
typedef struct {
  uint32_t again;  // address of a block that needs no further checks, or 1
  uint32_t count;  // number of its instructions
  Slot *slot;
  uint32_t address, size;
  uint16_t generation;  // of decoded blocks; bit 0 is the security state
  uint16_t looks;       // checks in force: LOOK_OPERANDS, LOOK_FLOATING
  uint32_t sequential;  // address after the block, 0 if not known
} Block;

// A part of a block that runs alone; see emulate.c.
typedef struct {
  bool running;
  bool single;     // one instruction, of an access that took effect
  uint32_t index;  // of the instruction before which the block must be cut
  uint32_t until;  // address at which Unicorn stops
} Part;

// Virtual time: instructions, extra ticks of branches, and sleep.
typedef struct {
  long long executed;
  long long limit;    // value of `executed` above which look_closer() must act
  long long charged;  // the part of `executed` that has been added to slots
  long long stop_at;  // value of `executed` at which Unicorn stops: `end_at`, or an event
  long long end_at;   // value of `executed` at which a run ends
  long long branches, slept;
  bool branch_ticks;    // a taken branch takes an extra tick
  long long look_at;    // value of `executed` at the next check of the clock and for an idle loop
  long long step;       // instructions between two such checks
  uint64_t wall;        // ns of the monotonic clock at which run() returns, 0 for never
  unsigned exceptions;  // taken since the last such check
  long long exception;  // time of the last entry to, or return from, an exception
} Time;

// Byte offsets in a saved context of state that Unicorn's interface does not give.
typedef struct {
  size_t registers;  // the first byte that a snapshot keeps
  size_t system;     // the banked system registers of the M profile
  size_t end;        // the first byte that a snapshot does not keep
} Layout;

typedef struct {
  void *handle;
  UnicornApi api;
  Layout layout;
  void *context;
  size_t context_bytes;
  void *on_access;  // the hook of accesses
} Unicorn;

// The processor: its registers, and the current security state.
typedef struct {
  Nvic *nvic;
  ScbBank *scb[2];  // of the secure, of the non-secure state
  ScbShared *shared;
  bool nonsecure;         // the security state; Unicorn's own is always secure
  bool nonsecure_frames;  // frames are those of a non-secure image that runs alone
  bool locked_up;
  bool debugged;           // DHCSR.C_DEBUGEN: BKPT halts
  bool interrupts_masked;  // DHCSR.C_MASKINTS: PendSV, SysTick and interrupts wait
  int sleeping;
  int other_priority;  // to which the masks of the other security state boost the current one
  bool fp_allowed[2], fp_disabled;
  bool fp_lazy;  // a floating-point context is not stacked yet: FPCCR.LSPACT of either state
  int extras;    // EXTRA_LIMITS, EXTRA_EXCLUSIVE that firmware has used
} Cpu;

// The MPU in force; see protection.c.
typedef struct {
  Mpu *banks[2];     // of the secure, of the non-secure state
  Regions wanted;    // the firmware's MPU when it was last put in force
  Regions in_force;  // derived from it
  Regions folded;    // the same, folded, whether in force so or not
  Regions opened;    // what was in force unfolded since Unicorn last forgot all pages
  bool was_opened;   // anything was
  bool off;          // the firmware's MPU is off: nothing is refused
  bool negative;     // it was put in force for code of a priority below zero
  bool stale;        // changes are to be put in force with the next block
  bool device;       // part of flash or RAM is Device memory
  bool unfolded;     // unprivileged code uses its regions of data RAM
} Protection;

// A range of non-secure callable addresses.
typedef struct {
  uint32_t begin, end;
} Gateway;

// Memory with uniform page rights: those of secure, of non-secure code.
typedef struct {
  uint32_t base, size, rights[2];
  uint32_t full, in_force;  // without restrictions; as Unicorn has them
} Stretch;

enum { MAX_SPU_REGIONS = 64, MAX_GATEWAYS = 8, MAX_STRETCHES = 4 * MAX_SPU_REGIONS + MAX_AREAS };
// SAU, IDAU and SPU; see attribution.c.
typedef struct {
  bool divided;       // something is non-secure: the machine must decide on accesses to devices
  bool restricted;    // accesses to memory may be refused
  bool idau_decides;  // SAU_CTRL.ALLNS
  uint8_t permissions[MAX_AREAS][MAX_SPU_REGIONS];  // PERM of the SPU, by code area
  Gateway gateways[MAX_GATEWAYS];
  int gateway_count;
  Stretch stretches[MAX_STRETCHES];
  int stretch_count;
} Attribution;

// The fault of a refused access: exception number, bits of CFSR or SFSR.
typedef struct {
  int cause;
  uint32_t status;
} Failure;

// A fault, for the report. The registers are still those of the faulting code.
typedef struct {
  int cause, taken;  // exception numbers; taken: 0 for lockup
  uint32_t status, pc;
  const uint32_t *address;  // NULL if there is none
  bool stacking;            // on exception entry
} Fault;

// A refused access; see access.c.
typedef struct {
  int type, size;
  uint32_t address, status;  // the status is Unicorn's
  Failure failure;           // why it was refused
  long long here;            // instructions executed before that of the access
  int count, skip;           // writes of this instruction; those that are already done
  unsigned total;            // accesses except plain loads of registers
  unsigned others;           // `total` at the last load of a register
  unsigned polls;            // such loads in a row
  unsigned loads;            // such loads
  uint32_t loaded;           // the register of the last one
  bool aborting, shadowed;   // Unicorn finishes a block that is then undone
} Access;

// The end of a run of Unicorn.
typedef struct {
  int reason, exception, error;
  bool after;  // stop after this instruction
} Stop;

// A condition for entering a block: a sum of registers (operands.h) has none of `bits`. It is a
// multiple of 4, or a value of BASEPRI. `more` and `keeps` are those of a block's first check.
typedef struct {
  uint32_t sum, bits;
  uint16_t index;      // of the instruction that needs it
  uint16_t more : 15;  // number of checks
  uint16_t keeps : 1;  // all conditions are kept by the block
} Check;

// See alignment.c.
typedef struct {
  Check *checks;
  uint32_t count, kept;  // number of checks, and of those of code that does not change
  bool everywhere;       // a hook checks every instruction
  bool divisions;        // hooks check divisors
  bool trusted;          // the instruction has been checked
  uint32_t from, until;  // code that must be translated again, if from < until
} Operands;

typedef struct {
  uint32_t *addresses;
  size_t count;
  uint32_t ignored;  // the breakpoint at which the next block may start
  bool ignoring;
} Breakpoints;

// Bytes that have been sent and not yet collected, with the virtual time of each transfer.
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
// Registers of devices, whose plain accesses the core carries out.
typedef struct {
  Served served[MAX_SERVED];
  int count, last;
  Registers *channels;              // of the DPPIC
  Registers *sending[MAX_SENDERS];  // of the UARTEs
  int senders;
  Registers *rtcs[MAX_RTCS];
  int rtc_count;
  Outbox outbox;
} Devices;

struct Core;
// Callbacks of the machine. `failed`: one raised an exception.
typedef struct {
  void *owner;  // the Python object
  // Carries out an access; false if it is refused.
  bool (*access)(struct Core *c, bool write, uint32_t address, int size, uint64_t value,
                 uint32_t *answer);
  // Reports a fault that is taken, and an access to code area `area` that the SPU refused.
  void (*fault)(struct Core *c, const Fault *fault);
  void (*violation)(struct Core *c, int area);
  // Called with bytes that are sent, or only with those that end a line.
  void (*sent)(struct Core *c, const uint8_t *bytes, uint32_t size);
  bool sends_lines;
  bool failed;
} Machine;

enum { IDLE_BLOCKS = 16 };
// A search for a loop without effect; see idle.c.
typedef struct {
  bool skips;      // such loops are skipped
  bool may_stand;  // no event is pending that could end a branch to itself
  bool stands;     // the core is before one: the run has ended
  bool watching;
  uint32_t hint;  // address of the hint before which the search began, 0: before a block
  uint32_t anchor;
  long long since;       // instructions executed when the anchor was first entered
  long long skipped_to;  // instructions executed after the last loop that was skipped
  long long branches;
  unsigned accesses, loads;  // of the core, when the search began
  uint32_t polled;           // a register that the last skipped loop loads; 0: it loads none
  void *context;
  int count;
  struct {
    Slot *slot;
    uint32_t instructions;
  } blocks[IDLE_BLOCKS];
} Idle;

enum { TRACE_BLOCKS = 256 };
// The last blocks.
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

// Memory of a stack, `top` included as a value of its pointer.
typedef struct {
  uint32_t begin, top;
} StackRange;

// See stack_watch.c. Arrays are of MSP, of PSP.
typedef struct {
  StackRange *known;  // variables and the main stack; NULL: nothing is watched
  int count;
  StackRange current[2];  // 0: not known
  uint32_t limits[2];
  StackRange over;  // the first stack that ran below its end
  uint32_t lowest;  // down to there; 0: none did
  uint32_t pc;      // the instruction that left it first
  long long at;     // its time
} StackWatch;

typedef struct Core {
  Block block;  // count_block() needs it, time and memory
  Time time;
  Memory memory;
  Trace trace;
  Part part;
  Counted counted;
  Unicorn unicorn;
  Cpu cpu;
  StackWatch stack;
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
// Lets Unicorn derive its mode from CONTROL and IPSR, which it does when the flags are written.
void core_refresh_mode(Core *c);
// Must be called after each change of a value that count_block() depends on.
void core_limit(Core *c);
// Stops at a tick, at the latest.
void core_stop_by(Core *c, long long tick);
// To be called before Python, which takes long: the clock is then checked sooner.
void core_note_python(Core *c);
bool core_is_late(const Core *c);
void core_set_wall(Core *c, double seconds);
// Adds the executed instructions to the slot of the current block.
void core_settle_charge(Core *c);
// Returns the number of instructions of the current block before `pc`.
uint32_t core_count_before(Core *c, uint32_t pc);
// Counts one instruction that the core has carried out itself.
void core_retire(Core *c, uint32_t pc);
// Drops decoded code, which has changed.
void core_invalidate(Core *c);
bool core_is_breakpoint(const Core *c, uint32_t address);
// Lets access_hook() be called for accesses that the page rights refuse.
bool core_watch(Core *c, uint64_t from, uint64_t to);
bool core_watch_ram(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_CORE_H_
