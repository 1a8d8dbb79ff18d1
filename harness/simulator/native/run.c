// Runs Unicorn, again and again, until there is something that the machine must do.
#include <time.h>

#include "core.h"
#include "exception.h"
#include "instructions.h"

// Instructions before the first look at the clock.
#define FIRST_LOOK 2048
#define NO_LOOK INT64_MAX
// Exceptions between two looks, which may be few instructions apart.
#define TAKEN_BETWEEN_LOOKS 256

static uint64_t monotonic_ns(void) {
  struct timespec now;
#ifdef CLOCK_MONOTONIC
  clock_gettime(CLOCK_MONOTONIC, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool core_is_late(const Core *c) { return c->wall && monotonic_ns() >= c->wall; }

static uint32_t address_of(Core *c, uint32_t index) {
  Area *area = core_area(c->code, c->code_count, c->block);
  uint32_t at = c->block;
  for (uint32_t i = 0; area && i < index; i++) at += thumb_length(core_halfword(area, at));
  return at;
}

// Subtract what was counted for the instructions of the current block from `pc` on.
static void settle(Core *c, uint32_t pc) {
  if (pc - c->block >= c->block_size) return;
  uint32_t before = core_count_before(c, pc);
  c->executed -= (long long)(c->block_count - before);
  c->block_count = before;
  c->block_size = pc - c->block;
  c->sequential = pc;
}

// One uc_emu_start() from the current pc.
static void emulate(Core *c, uint64_t until) {
  uint32_t pc = core_reg(c, REG_PC), thumb = (core_reg(c, REG_XPSR) & XPSR_THUMB) != 0;
  core_settle_charge(c);
  c->reason = REASON_NONE;
  c->until = (uint32_t)until;
  c->aborting = false;
  c->block_size = 0;
  c->block_count = 0;
  c->slot = NULL;
  c->again = 1;
  c->idle.watching = false;
  core_limit(c);
  int error = c->api.start(c->uc, pc | thumb, until, 0, 0);
  bool fetch = c->fault_type == MEM_FETCH_PROT || c->fault_type == MEM_FETCH_UNMAPPED;
  bool whole = c->exception == RAISED_SVC || c->exception == RAISED_RETURN;
  if (c->aborting) {
    access_undo(c);
    settle(c, core_reg(c, REG_PC));
  } else if ((c->reason == REASON_MEMORY && !fetch) || (c->reason == REASON_EXCEPTION && !whole)) {
    settle(c, core_reg(c, REG_PC));
  } else if (c->reason == REASON_NONE && error) {
    c->reason = REASON_ERROR;
    c->error = error;
    settle(c, core_reg(c, REG_PC));
  }
}

static void emulate_cut(Core *c, uint32_t from, uint32_t until) {
  // The whole block may be in Unicorn's cache: it must be translated again, up to `until`.
  c->api.ctl(c->uc, CTL_REMOVE_CACHE, (uint64_t)from, (uint64_t)until);
  c->partial = true;
  emulate(c, until);
  c->partial = false;
}

// The store at pc took effect: go on behind it, if the instruction does nothing else.
static bool step_over(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = core_area(c->code, c->code_count, pc);
  if (!area || core_reg(c, REG_XPSR) & XPSR_IT) return false;
  uint16_t first = core_halfword(area, pc), second = core_halfword(area, pc + 2);
  if (thumb_plain_store(first, second) != c->fault_size) return false;
  core_retire(c, pc);
  core_set_reg(c, REG_PC, (pc + thumb_length(first)) | 1);
  c->sequential = pc + thumb_length(first);
  c->reason = REASON_NONE;
  return true;
}

static void replay(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = core_area(c->code, c->code_count, pc);
  if (!area) return;
  c->skip = c->access_count;
  c->access_count = 0;
  c->access_here = -1;
  c->single = true;
  emulate_cut(c, pc, pc + thumb_length(core_halfword(area, pc)));
  c->single = false;
  c->skip = 0;
}

static void look_soon(Core *c) {
  c->step = FIRST_LOOK;
  if (c->look_at > c->executed + c->step) c->look_at = c->executed + c->step;
}

static void begin(Core *c) {
  c->failed = false;
  c->stop_after = false;
  c->look_at = NO_LOOK;
  look_soon(c);
}

static void run_on(Core *c) {
  emulate(c, NEVER);
  if (!c->failed && c->reason == REASON_CUT) emulate_cut(c, c->block, address_of(c, c->cut));
  if (!c->failed && c->reason == REASON_REPLAY && !step_over(c)) replay(c);
}

// Unicorn's fault status (short descriptor format) of an access that is not aligned.
enum { ALIGNMENT = 1 };

static bool is_breakpoint(const Core *c, uint32_t address) {
  for (size_t i = 0; i < c->breakpoint_count; i++) {
    if (c->breakpoints[i] == address) return true;
  }
  return false;
}

// Stands before an instruction that Unicorn must not run; false if the machine has a breakpoint
// there.
static bool stands_before(Core *c, uint32_t pc) {
  if (instruction_is_refused(c, pc)) return true;
  if (is_breakpoint(c, pc)) {
    c->reason = REASON_BREAKPOINT;
    return false;
  }
  instruction_carry_out(c, pc);
  return true;
}

// Does pc belong to the other security state, so that the fault is not one of the MPU?
static bool is_outside(const Core *c, uint32_t pc) {
  if (!c->restricted || attribution_region(c, pc) < 0) return false;
  return attribution_is_secure(c, pc) == c->nonsecure;
}

// A branch to EXC_RETURN or FNC_RETURN, whose bit 0 Unicorn took for the Thumb bit.
static void magic_branch(Core *c, uint32_t pc) {
  bool thumb = core_reg(c, REG_XPSR) & XPSR_THUMB;
  if (!thumb) core_set_reg(c, REG_EPSR, XPSR_THUMB);
  instruction_magic_branch(c, pc | thumb);
}

static uint32_t usage_fault_of(int exception) {
  switch (exception) {
    case 1:
      return UNDEFINSTR;
    case 17:
      return NOCP;
    case 18:
      return INVSTATE;
    case 19:
      return STKOF;
    case 22:
      return UNALIGNED;
    default:
      return 0;
  }
}

// An exception that Unicorn raised; false if it is none of this processor.
static bool take_raised(Core *c, uint32_t pc) {
  uint32_t address = c->fault_address;
  switch (c->exception) {
    case RAISED_SVC:
      exception_supervisor_call(c, pc);
      return true;
    case RAISED_RETURN:
      magic_branch(c, pc);
      return true;
    case RAISED_BREAKPOINT:  // with no debugger: HardFault
      c->shared->hfsr |= HFSR_DEBUGEVT;
      exception_fault(c, HARD_FAULT, 0, pc, NULL);
      return true;
    case RAISED_FETCH:
      if (state_admit_code(c)) return true;
      if (is_outside(c, pc)) return stands_before(c, pc);
      exception_fault(c, MEM_MANAGE, IACCVIOL, pc, NULL);
      return true;
    case RAISED_DATA:
      if ((c->fault_status & 0xF) == ALIGNMENT) {
        exception_fault(c, USAGE_FAULT, UNALIGNED, pc, NULL);
      } else {
        exception_fault(c, MEM_MANAGE, DACCVIOL | MMARVALID, pc, &address);
      }
      return true;
    default:
      if (!usage_fault_of(c->exception)) return false;
      exception_fault(c, USAGE_FAULT, usage_fault_of(c->exception), pc, NULL);
      return true;
  }
}

// An access was refused that Unicorn asked about.
static bool take_refused(Core *c, uint32_t pc) {
  const uint32_t address = c->fault_address;
  if (c->fault_type != MEM_FETCH_PROT && c->fault_type != MEM_FETCH_UNMAPPED) {
    exception_fault(c, c->refusal.cause, c->refusal.status, pc, &address);
    return true;
  }
  if (c->restricted && core_memory(c, pc, 2)) return stands_before(c, pc);
  exception_fault(c, BUS_FAULT, IBUSERR, address & ~1u, NULL);
  return true;
}

static void take_error(Core *c, uint32_t pc) {
  if (!core_memory(c, pc, 2)) {
    exception_fault(c, BUS_FAULT, IBUSERR, pc, NULL);
  } else if (c->error == ERROR_EXCEPTION || !(core_reg(c, REG_XPSR) & XPSR_THUMB)) {
    exception_fault(c, USAGE_FAULT, INVSTATE, pc, NULL);
  } else {
    exception_fault(c, USAGE_FAULT, UNDEFINSTR, pc, NULL);
  }
}

// Deal with what ended the emulation; false if the machine must do so.
static bool deal(Core *c) {
  const uint32_t pc = core_reg(c, REG_PC) & ~1u;
  switch (c->reason) {
    case REASON_EXCEPTION:
      return take_raised(c, pc);
    case REASON_UNMASKED:
      exception_enter(c, c->nvic->best, pc);
      return true;
    case REASON_SPECIAL:
      return stands_before(c, pc);
    case REASON_MEMORY:
      return take_refused(c, pc);
    case REASON_ERROR:
      take_error(c, pc);
      return true;
    default:
      return c->reason == REASON_NONE || c->reason == REASON_SYNC;
  }
}

// Is the wall time over? `reason`: what the emulation ended with.
static bool is_over(Core *c, int reason) {
  if (reason == REASON_SYNC) return false;
  if (reason == REASON_NONE) return core_is_late(c);
  look_soon(c);
  return ++c->taken % TAKEN_BETWEEN_LOOKS == 0 && core_is_late(c);
}

// Run until a reason to return, for at most about `seconds` of wall time (0: no bound).
int core_run(Core *c, double seconds) {
  begin(c);
  c->wall = seconds > 0 ? monotonic_ns() + (uint64_t)(seconds * 1e9) : 0;
  for (;;) {
    if (c->executed >= c->stop_at) return REASON_BUDGET;
    if (core_deliverable(c)) {
      c->reason = REASON_UNMASKED;
    } else if (c->stale) {
      core_synchronize(c);
      continue;
    } else {
      run_on(c);
    }
    const int reason = c->reason;
    if (c->failed || !deal(c)) return c->reason;
    if (c->locked_up || c->sleeping) return REASON_HALTED;
    if (c->stop_after) {
      if (c->stale) core_synchronize(c);
      return REASON_DEVICE;
    }
    if (is_over(c, reason)) return REASON_BUDGET;
  }
}

// Run the one instruction at pc.
int core_step(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = core_area(c->code, c->code_count, pc);
  begin(c);
  emulate_cut(c, pc, pc + (area ? thumb_length(core_halfword(area, pc)) : 2));
  return c->reason;
}
