// Runs Unicorn repeatedly, until the machine must act.
#include "run.h"

#include "alignment.h"
#include "attribution.h"
#include "emulate.h"
#include "events.h"
#include "exception.h"
#include "idle.h"
#include "instructions.h"
#include "priority.h"
#include "protection.h"
#include "stack_watch.h"
#include "thumb.h"

// Instructions before the first check of the clock.
#define FIRST_LOOK 2048
#define NO_LOOK INT64_MAX
// Exceptions between two checks of the clock: they may be few instructions apart.
#define EXCEPTIONS_BETWEEN_LOOKS 256

static void look_soon(Core *c) {
  c->time.step = FIRST_LOOK;
  if (c->time.look_at > c->time.executed + c->time.step)
    c->time.look_at = c->time.executed + c->time.step;
}

static void begin(Core *c) {
  c->machine.failed = false;
  c->stop.after = false;
  c->idle.stands = false;
  idle_forget_hint(c);
  c->time.look_at = NO_LOOK;
  look_soon(c);
  events_advance(c);
}

// Unicorn's fault status (short descriptor format) of an unaligned access.
enum { ALIGNMENT = 1 };

// Handles an instruction that Unicorn must not run; false if the machine has a breakpoint there.
static bool stands_before(Core *c, uint32_t pc) {
  if (instruction_is_refused(c, pc)) return true;
  if (core_is_breakpoint(c, pc)) {
    c->stop.reason = REASON_BREAKPOINT;
    return false;
  }
  instruction_carry_out(c, pc);
  return true;
}

// Whether pc belongs to the other security state, so that the fault is not one of the MPU.
static bool is_outside(const Core *c, uint32_t pc) {
  if (!c->attribution.restricted || attribution_region(c, pc) < 0) return false;
  return attribution_is_secure(c, pc) == c->cpu.nonsecure;
}

// Handles a branch to EXC_RETURN or FNC_RETURN, whose bit 0 Unicorn took for the Thumb bit.
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

// Handles an exception that Unicorn raised; false if this processor does not have it.
static bool take_raised(Core *c, uint32_t pc) {
  uint32_t address = c->access.address;
  switch (c->stop.exception) {
    case RAISED_SVC:
      exception_supervisor_call(c, pc);
      return true;
    case RAISED_RETURN:
      magic_branch(c, pc);
      return true;
    case RAISED_BREAKPOINT:  // without a debugger: HardFault
      if (c->cpu.debugged) {
        c->stop.reason = REASON_BKPT;
        return false;
      }
      c->cpu.shared->hfsr |= HFSR_DEBUGEVT;
      exception_fault(c, HARD_FAULT, 0, pc, NULL);
      return true;
    case RAISED_FETCH:
      if (protection_admit_code(c)) return true;
      if (is_outside(c, pc)) return stands_before(c, pc);
      exception_fault(c, MEM_MANAGE, IACCVIOL, pc, NULL);
      return true;
    case RAISED_DATA:
      if ((c->access.status & 0xF) == ALIGNMENT) {
        exception_fault(c, USAGE_FAULT, UNALIGNED, pc, NULL);
      } else if (!protection_unfold(c) && !alignment_stored(c, pc)) {
        exception_fault(c, MEM_MANAGE, DACCVIOL | MMARVALID, pc, &address);
      }
      return true;
    default:
      if (!usage_fault_of(c->stop.exception)) return false;
      if (usage_fault_of(c->stop.exception) == STKOF && stack_watch_took(c, pc)) {
        return c->stop.reason != REASON_STACK;
      }
      exception_fault(c, USAGE_FAULT, usage_fault_of(c->stop.exception), pc, NULL);
      return true;
  }
}

// Handles a refused access.
static bool take_refused(Core *c, uint32_t pc) {
  const uint32_t address = c->access.address;
  if (c->access.type != MEM_FETCH_PROT && c->access.type != MEM_FETCH_UNMAPPED) {
    exception_fault(c, c->access.failure.cause, c->access.failure.status, pc, &address);
    return true;
  }
  if (c->attribution.restricted && memory_holding(&c->memory, pc, 2)) return stands_before(c, pc);
  exception_fault(c, BUS_FAULT, IBUSERR, address & ~1u, NULL);
  return true;
}

static void take_error(Core *c, uint32_t pc) {
  if (!memory_holding(&c->memory, pc, 2)) {
    exception_fault(c, BUS_FAULT, IBUSERR, pc, NULL);
  } else if (c->stop.error == ERROR_EXCEPTION || !(core_reg(c, REG_XPSR) & XPSR_THUMB)) {
    exception_fault(c, USAGE_FAULT, INVSTATE, pc, NULL);
  } else {
    exception_fault(c, USAGE_FAULT, UNDEFINSTR, pc, NULL);
  }
}

// Handles the end of an emulation; false if the machine must do so.
static bool deal(Core *c) {
  const uint32_t pc = core_reg(c, REG_PC) & ~1u;
  switch (c->stop.reason) {
    case REASON_EXCEPTION:
      return take_raised(c, pc);
    case REASON_UNMASKED:
      exception_enter(c, c->cpu.nvic->best, pc);
      return true;
    case REASON_SPECIAL:
      return stands_before(c, pc);
    case REASON_OPERANDS:
      alignment_carry_out(c, pc);
      return true;
    case REASON_MEMORY:
      return take_refused(c, pc);
    case REASON_BUDGET:
      return events_advance(c) && !core_is_late(c);
    case REASON_ERROR:
      take_error(c, pc);
      return true;
    default:
      return c->stop.reason == REASON_NONE || c->stop.reason == REASON_SYNC;
  }
}

// Whether the wall time is over; `reason` is that of the emulation's end.
static bool is_over(Core *c, int reason) {
  if (reason == REASON_SYNC) return false;
  if (reason == REASON_NONE) return core_is_late(c);
  look_soon(c);
  return ++c->time.exceptions % EXCEPTIONS_BETWEEN_LOOKS == 0 && core_is_late(c);
}

// Runs until a reason to return, for at most about `seconds` of wall time (0: no limit).
int run_core(Core *c, double seconds) {
  begin(c);
  core_set_wall(c, seconds);
  for (;;) {
    if (c->time.executed >= c->time.stop_at && !events_advance(c)) return REASON_BUDGET;
    if (priority_deliverable(c)) {
      c->stop.reason = REASON_UNMASKED;
    } else if (c->mpu.stale) {
      protection_synchronize(c);
      continue;
    } else {
      if (c->mpu.device && !c->operands.everywhere) alignment_update(c);
      emulate_on(c);
    }
    const int reason = c->stop.reason;
    if (reason != REASON_SPECIAL && reason != REASON_NONE) idle_forget_hint(c);
    if (c->machine.failed || !deal(c)) return c->stop.reason;
    if (c->cpu.locked_up) return REASON_HALTED;
    if (c->cpu.sleeping && !events_sleep(c, core_now(c) + c->time.end_at - c->time.executed)) {
      return REASON_HALTED;
    }
    if (c->stop.after) {
      if (c->mpu.stale) protection_synchronize(c);
      return REASON_DEVICE;
    }
    if (is_over(c, reason)) return REASON_BUDGET;
  }
}

int run_stepwise(Core *c, double seconds, bool (*before)(Core *c, void *given), void *given) {
  long long end = c->time.end_at;
  for (;;) {
    const long long first = c->time.executed;
    if (!before(c, given)) return REASON_NONE;
    c->time.end_at = first + 1;
    const int reason = run_core(c, seconds);
    end += c->time.end_at - (first + 1);  // by ticks of branches, and of sleep
    c->time.end_at = end;
    const bool due = events_next(c) <= core_now(c);
    if (reason != REASON_BUDGET || c->machine.failed || due) return reason;
    if (c->time.executed == first || c->time.executed >= end) return reason;
  }
}

int run_step(Core *c) {
  begin(c);
  if (!alignment_is_refused(c, core_reg(c, REG_PC) & ~1u)) emulate_step(c);
  return c->stop.reason;
}
