// Exceptions that are taken and left without anything out of the ordinary (Armv8-M ARM, B3.18 to
// B3.24): one security state, no fault, a priority of zero or more before and after. All others
// change nothing here; harness/simulator/exceptions.py takes them.
#include "core.h"

enum { DIVIDES_RETURNS = 0x00FFFF82, ANY_RETURN = 0x00FFFF80, THREAD = 8 };
#define SECURE_RETURN 0xFFFFFFE1u     // secure stack and exception, default stacking
#define NONSECURE_RETURN 0xFFFFFFA0u  // what a non-secure image expects that runs alone

static bool is_plain(Core *c, int number) {
  const uint32_t negative = (1u << NMI | 1u << HARD_FAULT) * (1 + (1u << FIRST_IRQ));
  if (number <= HARD_FAULT || c->divided || c->nonsecure || !c->plain_frames) return false;
  return !(c->nvic->state.sets[ACTIVE][0] & negative) && !(core_reg(c, REG_FAULTMASK) & 1);
}

static uint32_t vector_address(const Core *c, int number) {
  return c->nvic->state.vtor[0] + 4 * (uint32_t)number;
}

static bool enter(Core *c, int number) {
  uint32_t pc = core_reg(c, REG_PC) & ~1u;
  uint32_t exc_return = c->nonsecure_frames ? NONSECURE_RETURN : SECURE_RETURN;
  if (!is_plain(c, number)) return false;
  if (!frame_enter(c, number, pc, vector_address(c, number), exc_return)) return false;
  nvic_activate(c->nvic, number);
  return true;
}

static bool chain(Core *c, uint32_t exc_return) {
  int number = c->nvic->best;
  if (!is_plain(c, number)) return false;
  if (!frame_chain(c, number, vector_address(c, number), exc_return)) return false;
  nvic_activate(c->nvic, number);
  return true;
}

static bool leave(Core *c) {
  uint32_t xpsr = core_reg(c, REG_XPSR), exc_return = core_reg(c, REG_PC) | 1;
  int number = (int)(xpsr & 0x1FF);
  if (!(xpsr & XPSR_THUMB) || !is_plain(c, number) || !nvic_has(c->nvic, ACTIVE, number) ||
      (exc_return & DIVIDES_RETURNS) != ANY_RETURN) {
    return false;
  }
  if (exc_return & THREAD && c->nvic->state.scr[0] & SCR_SLEEPONEXIT) return false;
  const NvicState before = c->nvic->state;
  nvic_deactivate(c->nvic, number);
  if (core_deliverable(c) ? chain(c, exc_return) : frame_leave(c, exc_return)) return true;
  c->nvic->state = before;
  nvic_update(c->nvic);
  return false;
}

static bool call_supervisor(Core *c) {
  return nvic_group_priority(c->nvic, SVCALL) < core_priority(c) && enter(c, SVCALL);
}

static bool take(Core *c) {
  if (c->reason == REASON_UNMASKED) return enter(c, c->nvic->best);
  if (c->reason != REASON_EXCEPTION) return false;
  if (c->exception == RAISED_SVC) return call_supervisor(c);
  return c->exception == RAISED_RETURN && leave(c);
}

// What ended the run was an exception, or a return from one, that is carried out now.
bool exception_take(Core *c) {
  if (c->stop_after || !take(c)) return false;
  if (c->stale) core_synchronize(c);
  c->reason = REASON_NONE;
  return true;
}
