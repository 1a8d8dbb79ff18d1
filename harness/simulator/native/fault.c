// The exception for a fault (Armv8-M ARM, B3.9 to B3.13).
#include "fault.h"

#include "priority.h"

static bool is_nonsecure(const Core *c, int exception) {
  return nvic_has(c->cpu.nvic, TARGETS_NONSECURE, exception);
}

int fault_own(const Core *c, int cause) {
  return c->cpu.nonsecure && nvic_is_banked(cause) ? cause | NONSECURE : cause;
}

int fault_hard(const Core *c, int cause) {
  bool nonsecure = c->cpu.nvic->state.faults_nonsecure && is_nonsecure(c, cause);
  return nonsecure ? HARD_FAULT | NONSECURE : HARD_FAULT;
}

// Returns SHCSR's enable bit of a configurable fault.
static uint32_t enable_bit(int number) {
  switch (number) {
    case MEM_MANAGE:
      return MEMFAULTENA;
    case BUS_FAULT:
      return BUSFAULTENA;
    case USAGE_FAULT:
      return USGFAULTENA;
    case SECURE_FAULT:
      return SECUREFAULTENA;
    default:
      return 0;
  }
}

int fault_escalate(const Core *c, int cause, int below) {
  int number = cause & NUMBER;
  uint32_t enables = c->cpu.scb[is_nonsecure(c, cause)]->enables | c->cpu.shared->enables;
  bool enabled = number == SVCALL || enables & enable_bit(number);
  if (enabled && nvic_group_priority(c->cpu.nvic, cause) < below) return cause;
  int hard = fault_hard(c, cause);
  return below > nvic_priority(c->cpu.nvic, hard) ? hard : 0;
}

void fault_note(Core *c, int cause, uint32_t status, const uint32_t *address) {
  if (cause == SECURE_FAULT) {
    c->cpu.shared->sfsr |= status;
    if (address) c->cpu.shared->sfar = *address;
    return;
  }
  ScbBank *bank = c->cpu.scb[is_nonsecure(c, cause)];
  bank->cfsr |= status & ~(uint32_t)BFSR;
  c->cpu.shared->bfsr |= status & BFSR;
  if (address && status & MMARVALID) bank->mmfar = *address;
  if (address && status & BFARVALID) c->cpu.shared->bfar = *address;
}

void fault_report(Core *c, Fault fault) {
  if (!c->machine.failed) c->machine.fault(c, &fault);
}

static bool is_escalated(int number, int cause) {
  return (number & NUMBER) == HARD_FAULT && (cause & NUMBER) != HARD_FAULT;
}

int fault_judge(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address) {
  fault_note(c, cause, status, address);
  if (cause == (HARD_FAULT | NONSECURE) && !c->cpu.nvic->state.faults_nonsecure) cause = HARD_FAULT;
  int number = fault_escalate(c, cause, priority_now(c));
  if (is_escalated(number, cause)) c->cpu.shared->hfsr |= HFSR_FORCED;
  fault_report(c, (Fault){cause, number, status, pc, address, false});
  return number;
}

// Escalation is against the priority before the entry (Armv8-M ARM, DerivedLateArrival): a
// MemManage whose own frame hits the stack guard stays a MemManage.
int fault_derive(Core *c, int number, Failure failure, uint32_t pc) {
  const int cause = failure.cause, plain = number & NUMBER;
  fault_note(c, cause, failure.status, NULL);
  int derived = fault_escalate(c, cause, priority_now(c));
  if (!derived && (plain == HARD_FAULT || plain == NMI)) {
    fault_report(c, (Fault){cause, HARD_FAULT, failure.status, pc, NULL, true});
    fault_lock_up(c, pc);
    return number;
  }
  if (!derived) derived = fault_hard(c, cause);
  if (is_escalated(derived, cause)) c->cpu.shared->hfsr |= HFSR_FORCED;
  fault_report(c, (Fault){cause, derived, failure.status, pc, NULL, true});
  if (nvic_group_priority(c->cpu.nvic, derived) >= nvic_group_priority(c->cpu.nvic, number)) {
    nvic_pend(c->cpu.nvic, derived);
    return number;
  }
  // A secure fault of these is raised again when its instruction runs again.
  bool again = number == MEM_MANAGE || number == BUS_FAULT || number == USAGE_FAULT;
  if (!again) nvic_pend(c->cpu.nvic, number);
  return derived;
}

void fault_lock_up(Core *c, uint32_t pc) {
  c->cpu.locked_up = true;
  core_set_reg(c, REG_PC, pc | 1);
}
