// The counting core: a Unicorn Cortex-M33 that knows, at every moment, how many instructions ran.
//
// Nothing is linked against Unicorn: the addresses of its functions are passed in.
//   thumb.c    Thumb instructions, as far as counting needs them
//   count.c    blocks and budgets: each instruction is counted
//   run.c      runs and cuts: a run stops at an exact instruction
//   access.c   accesses that Unicorn asks about; undoes what follows a refused one
//   registers.c  devices' registers, and accesses that need no device
//   uarte.c    bytes that a UARTE sends
//   idle.c     loops that can change nothing, skipped to the next event
//   nvic.c     exceptions that are pending and active, and their priorities
//   exception.c  taking and leaving exceptions
//   fault.c    which exception a fault becomes, and its status
//   frame.c    memory as exception frames see it
//   security.c  the two security states: masks, and the change between them
//   attribution.c  which state an address belongs to, and page rights
//   instructions.c  instructions that the core carries out itself
//   mpu.c      what the MPU allows, and whether a change of it takes a right away
//   mpu_registers.c  its registers, and when they take effect
//   scs.c      registers of the System Control Space that need no device
//   state.c    the registers that Unicorn's interface does not show
//   profile.c  what ran, how often
//   methods.c  methods for Python (evidence.c: about what ran; properties.c: attributes)
//   nvic_methods.c, mpu_methods.c, scb_methods.c  those of the processor's blocks
//   binding.c  the type `harness.simulator._native.Core`
#ifndef HARNESS_SIMULATOR_NATIVE_CORE_H_
#define HARNESS_SIMULATOR_NATIVE_CORE_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attribution.h"
#include "fault.h"
#include "mpu.h"
#include "nvic.h"
#include "registers.h"
#include "scb.h"

// Register ids, hook kinds and access kinds of Unicorn's public ARM interface.
enum { REG_APSR_NZCV = 2, REG_FPSCR = 6, REG_LR = 10, REG_PC = 11, REG_SP = 12 };
enum { REG_R0 = 66, REG_R12 = 78, REG_S0 = 79, REG_PSP = 116, REG_CONTROL = 117 };
enum { REG_XPSR = 120, REG_EPSR = 121, REG_PRIMASK = 123, REG_BASEPRI = 124, REG_FAULTMASK = 126 };
enum { REG_XPSR_NZCVQG = 138 };
enum { HOOK_INTR = 1, HOOK_BLOCK = 8, HOOK_MEM_INVALID = 1008 };
enum { MEM_WRITE_UNMAPPED = 20, MEM_FETCH_UNMAPPED = 21, MEM_WRITE_PROT = 22, MEM_FETCH_PROT = 24 };
enum { CTL_REMOVE_CACHE = 9 | (2 << 26) | (1 << 30) };
enum { CTL_FLUSH_TB = 10 | (1 << 30), CTL_FLUSH_TLB = 11 | (1 << 30) };
// Unicorn's exception numbers: SVC, a refused fetch, a refused access, BKPT, a branch to
// EXC_RETURN.
enum {
  RAISED_SVC = 2,
  RAISED_FETCH = 3,
  RAISED_DATA = 4,
  RAISED_BREAKPOINT = 7,
  RAISED_RETURN = 8
};

// Why Unicorn stopped, or why run() returned; run() deals with most of them itself.
enum {
  REASON_NONE = 0,
  REASON_BUDGET = 1,      // `stop_at` instructions are executed, or the wall time is used up
  REASON_EXCEPTION = 2,   // Unicorn raised exception number `exception`
  REASON_SPECIAL = 3,     // stands before an instruction that the core carries out itself
  REASON_UNMASKED = 4,    // a pending exception can be taken now
  REASON_MEMORY = 5,      // an access was refused: `fault_type`, `fault_address`
  REASON_DEVICE = 6,      // stands after the instruction whose access asked to stop
  REASON_ERROR = 7,       // Unicorn error `error` that none of the above explains
  REASON_BREAKPOINT = 8,  // stands before an instruction with a breakpoint
  REASON_HALTED = 9,      // sleeps, or is locked up
  REASON_CUT = 100,       // the block must be cut
  REASON_REPLAY = 101,    // an access took effect; finish its instruction, then stop
  REASON_SYNC = 102,      // changes of the MPU must be put in force before the next block
};
enum { ERROR_EXCEPTION = 21 };  // Unicorn's error for an exception that it does not handle
// Does the core sleep, and in which instruction?
enum { AWAKE, SLEEP_WFI, SLEEP_WFE };

#define XPSR_THUMB 0x01000000u
#define XPSR_IT 0x0600FC00u
#define NEVER 0xFFFFFFF0ull
#define NO_SPECIAL 0xFFFFu
#define MAX_AREAS 4
#define TRACE_BLOCKS 256
#define MAX_BLOCK 4096
#define IDLE_BLOCKS 16
#define PAGE 1024  // Unicorn's smallest page
enum { EXTRA_LIMITS = 1, EXTRA_EXCLUSIVE = 2 };
// The context of an instruction, as far as it decides who carries it out.
enum { CONTEXT_NO_FP = 1, CONTEXT_NONSECURE = 2 };

typedef struct {
  int (*start)(void *uc, uint64_t begin, uint64_t until, uint64_t timeout, size_t count);
  int (*stop)(void *uc);
  int (*reg_read)(void *uc, int id, void *value);
  int (*reg_write)(void *uc, int id, const void *value);
  int (*hook_add)(void *uc, size_t *hook, int type, void *callback, void *user, uint64_t begin,
                  uint64_t end, ...);
  int (*ctl)(void *uc, int control, ...);
  size_t (*context_size)(void *uc);
  int (*context_alloc)(void *uc, void **context);
  int (*context_save)(void *uc, void *context);
  int (*context_restore)(void *uc, void *context);
  int (*context_free)(void *context);
  int (*mem_protect)(void *uc, uint64_t address, size_t size, uint32_t rights);
} Unicorn;
#define UNICORN_FUNCTIONS 12

// The block that starts at a halfword, and how many instructions have run in it.
typedef struct {
  uint32_t key;  // size << 16 | generation; 0 for a block that must be looked at each time
  uint16_t count;
  uint16_t special;  // index of the first instruction that the machine carries out
  uint64_t executed;
} Slot;

// A stretch of the address space with host memory behind it.
typedef struct {
  uint32_t base;
  uint32_t size;
  uint8_t *host;
  Slot *slots;       // one per halfword, code areas only
  uint8_t *covered;  // one bit per halfword, code areas only
  bool stable;       // code there changes only through core_invalidate()
  uint32_t rights;   // Unicorn's page rights while nothing restricts them
} Area;

// Byte offsets in a saved context, where Unicorn keeps what its interface does not show.
typedef struct {
  size_t registers;  // the first one that a snapshot keeps
  size_t system;     // the banked system registers of the M profile
  size_t end;        // first byte behind what a snapshot keeps
} Layout;

// Bytes that were sent and not collected yet, with the virtual time of each transfer.
#define OUTBOX_CHUNKS 1024
typedef struct {
  struct {
    long long tick;
    uint32_t size;
  } chunks[OUTBOX_CHUNKS];
  uint8_t bytes[65536];
  unsigned count;
  uint32_t used;
} Outbox;

// The last question to core_count_before(), and its answer.
typedef struct {
  uint32_t block, size, pc, generation, count;
} Counted;

// A search for a loop that can change nothing; see idle.c.
typedef struct {
  bool watching;
  uint32_t anchor;
  long long since;  // instructions executed when the anchor was first entered
  long long branches;
  unsigned accesses;
  int count;
  struct {
    Slot *slot;
    uint32_t instructions;
  } blocks[IDLE_BLOCKS];
} Idle;

typedef struct Core {
  // What on_block() needs is together.
  uint32_t again;        // address of a block that needs no second look, or 1
  uint32_t block_count;  // instructions of the current block
  long long executed;
  long long limit;  // once `executed` is above it, on_block_slow() has something to do
  Slot *slot;
  long long charged;  // the part of `executed` that has been added to slots
  uint32_t block, block_size;
  uint32_t trace_next;
  uint16_t generation;
  Area code[MAX_AREAS];  // executable memory: flash first
  long long stop_at;

  void *uc;
  Unicorn api;
  void *owner;  // the Python object, for access_callback
  // The machine's answer to an access; false to refuse it. `*failed`: the callback raised.
  bool (*access)(struct Core *c, bool write, uint32_t address, int size, uint64_t value,
                 uint32_t *answer, bool *failed);
  // A fault is taken; the SPU refused an access to code area `area`.
  void (*fault)(struct Core *c, const Fault *fault);
  void (*violation)(struct Core *c, int area);
  // Called with what is sent, or only with what ends a line. `*failed`: the callback raised.
  void (*heard)(struct Core *c, const uint8_t *bytes, uint32_t size, bool *failed);
  bool hears_lines;
  int code_count;
  Area information[MAX_AREAS];  // memory that holds neither code nor variables
  int information_count;
  Area windows[MAX_AREAS];  // device windows; their memory holds answers to reads
  int window_count;
  Served served[MAX_SERVED];  // registers whose plain accesses the core answers
  int served_count, last_served;
  Registers *channels;  // the DPPIC's
  uint8_t *shadow;      // copy of the writable areas while a block is undone
  uint32_t *breakpoints;
  size_t breakpoint_count;
  Layout layout;
  void *context, *idle_context;
  size_t context_bytes;

  long long look_at;    // time to look at the clock and for an idle loop
  long long step;       // instructions between two such looks
  uint64_t wall;        // ns of the monotonic clock at which run() returns, 0 for never
  bool branch_ticks;    // a taken branch takes one more tick
  long long branches;   // the additional ticks of branches
  long long slept;      // ticks without instructions
  uint32_t sequential;  // where code goes on without a branch, 0 if not known
  Nvic *nvic;
  unsigned taken;         // exceptions
  int other_priority;     // what the masks of the other security state boost to
  bool nonsecure;         // the security state; Unicorn's own is always secure
  bool nonsecure_frames;  // frames are as a non-secure image expects them that runs alone
  bool divided;           // something is non-secure: always ask the machine about devices
  bool restricted;        // accesses to memory may be refused
  bool idau_decides;      // SAU_CTRL.ALLNS
  bool locked_up;
  int sleeping;
  uint8_t spu[2][SPU_REGIONS];  // permissions of flash and RAM
  Gateway gateways[MAX_GATEWAYS];
  int gateway_count;
  Stretch stretches[MAX_STRETCHES];
  int stretch_count;
  ScbBank *scb[2];  // of the secure, of the non-secure state
  ScbShared *shared;
  bool fp_allowed[2];
  Failure refusal;  // why the last access was refused
  int exception, error, fault_type, fault_size;
  unsigned int fault_address, fault_status;
  bool stop_after, fp_disabled, skip_idle;
  Mpu *mpus[2];       // of the secure, of the non-secure state
  Regions asked;      // the firmware's MPU when it was last put in force
  Regions in_force;   // derived from it: with fillers, or those of mpu_open()
  bool mpu_off;       // the firmware's MPU is off: nothing is refused
  bool mpu_negative;  // it was put in force for code of a priority below zero
  bool ram_runs;      // code has run in writable memory
  bool watches_ram;   // accesses to writable memory may be refused
  bool stale;         // changes of the MPU wait for the next block
  int extras;

  int reason;
  uint32_t cut, until;
  bool partial, single, aborting, shadowed, failed;
  long long access_here;
  int access_count, skip;
  unsigned accesses;
  uint32_t ignored;  // breakpoint that the next block may start on
  bool ignoring;
  Counted counted;
  Idle idle;
  uint32_t trace[TRACE_BLOCKS];
  Outbox outbox;
} Core;

// Data RAM is the last area in which code may lie.
static inline const Area *core_ram(const Core *c) { return &c->code[c->code_count - 1]; }

// thumb.c
uint32_t thumb_length(uint16_t first);
bool thumb_is_special(uint16_t first, uint16_t second, int context);
bool thumb_may_store(uint16_t first);
int thumb_plain_store(uint16_t first, uint16_t second);
int thumb_extra_state(uint16_t first, uint16_t second);

// count.c
Area *core_area(Area *areas, int count, uint32_t address);
const Area *core_memory(const Core *c, uint32_t address, uint32_t size);
uint16_t core_halfword(const Area *area, uint32_t address);
uint32_t core_reg(Core *c, int id);
void core_set_reg(Core *c, int id, uint32_t value);
bool core_deliverable(Core *c);
void core_limit(Core *c);
void core_settle_charge(Core *c);
uint32_t core_count_before(Core *c, uint32_t pc);
void core_retire(Core *c, uint32_t pc);
void core_invalidate(Core *c);
bool core_attach(Core *c);
bool core_watch_ram(Core *c);

// run.c
bool core_is_late(const Core *c);
int core_run(Core *c, double seconds);
int core_step(Core *c);

// access.c
bool access_hook(void *uc, int type, uint64_t address, int size, int64_t value, void *user);
void access_undo(Core *c);
void access_note_python(Core *c);

static inline long long core_now(const Core *c) { return c->executed + c->branches + c->slept; }

// uarte.c
bool uarte_start(Core *c, Registers *r);

// idle.c
void idle_begin(Core *c);
void idle_block(Core *c);

// security.c
int core_priority(Core *c);
int core_context(const Core *c);
void core_update_masks(Core *c);
bool core_wakes(Core *c);
bool core_is_privileged(Core *c);
void core_update_fp_access(Core *c);
void core_set_state(Core *c, bool nonsecure);
void core_change_state(Core *c);
void core_reset(Core *c);

// attribution.c
bool core_may_run(const Core *c, const Area *area, uint32_t address);

// state.c
const char *state_find(Core *c);  // NULL, or what is not as expected
void state_note_fault(Core *c);
void state_protect(Core *c, uint32_t ctrl, const Regions *regions);
void state_limits(Core *c, uint32_t *psplim, uint32_t *msplim);
void state_set_limits(Core *c, uint32_t psplim, uint32_t msplim);
void state_exchange_banks(Core *c);
void state_other(Core *c, uint32_t values[4]);
void state_clear_monitor(Core *c);
void state_save(Core *c, uint8_t *into);
void state_load(Core *c, const uint8_t *from);
size_t state_size(const Core *c);
bool state_admit_code(Core *c);

// mpu.c
bool mpu_shrinks(const Core *c, const Regions *before, const Regions *after);
bool mpu_stops_code(const Core *c, const Regions *before, const Regions *after);
void mpu_open(const Core *c, Regions *r);
bool mpu_is_filled(const Core *c, uint32_t address);
void mpu_fill(const Core *c, Regions *r);

// mpu_registers.c
void core_synchronize(Core *c);

// scs.c
bool scs_access(Core *c, bool write, uint32_t address, uint32_t value);

// profile.c
void profile_clear(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_CORE_H_
