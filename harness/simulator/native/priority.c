// Masks (Armv8-M ARM, B3, ExecutionPriority): may the pending exception that goes first be taken
// now? Of two pending ones the more urgent goes first, then the lower number, then the secure one
// (goes_first() in nvic.c).
#include "priority.h"

#include "state.h"

static int lower(int one, int other) { return one < other ? one : other; }

// The priority that PRIMASK of a state boosts to.
static int primask_priority(const NvicState *s, bool nonsecure) {
  return nonsecure && s->squashed ? SQUASHED : 0;
}

// The same for FAULTMASK.
static int faultmask_priority(const NvicState *s, bool nonsecure) {
  if (!nonsecure) return s->faults_nonsecure ? -3 : -1;
  return s->faults_nonsecure ? -1 : primask_priority(s, nonsecure);
}

// The same for BASEPRI, NO_PRIORITY if it masks nothing.
static int basepri_priority(const NvicState *s, bool nonsecure, uint32_t basepri) {
  int base = (int)(basepri & 0xFF) & s->group_masks[nonsecure];
  if (!base) return NO_PRIORITY;
  return nonsecure && s->squashed ? base / 2 + SQUASHED : base;
}

// The priority that a new exception must be below: that of active exceptions and of both masks
// (Armv8-M ARM, ExecutionPriority).
int priority_now(Core *c) {
  const NvicState *s = &c->cpu.nvic->state;
  int now = lower(c->cpu.nvic->active_priority, c->cpu.other_priority);
  if (core_reg(c, REG_FAULTMASK) & 1) now = lower(now, faultmask_priority(s, c->cpu.nonsecure));
  if (core_reg(c, REG_PRIMASK) & 1) now = lower(now, primask_priority(s, c->cpu.nonsecure));
  return lower(now, basepri_priority(s, c->cpu.nonsecure, core_reg(c, REG_BASEPRI)));
}

void priority_update_masks(Core *c) {
  const NvicState *s = &c->cpu.nvic->state;
  const bool other = !c->cpu.nonsecure;
  uint32_t masks[4];  // PRIMASK, FAULTMASK, BASEPRI, CONTROL
  state_other(c, masks);
  int now = basepri_priority(s, other, masks[2]);
  if (masks[0]) now = lower(now, primask_priority(s, other));
  if (masks[1]) now = lower(now, faultmask_priority(s, other));
  c->cpu.other_priority = now;
}

bool priority_deliverable(Core *c) {
  const Nvic *n = c->cpu.nvic;
  if (!n->best || n->best_pending >= n->active_priority) return false;
  if (c->cpu.interrupts_masked && (n->best & NUMBER) >= PENDSV) return false;
  return n->best_pending < priority_now(c);
}

// Does a pending exception end the sleep? WFI wakes for what would be taken if PRIMASK were clear;
// WFE only for what is taken, and for events.
bool priority_wakes(Core *c) {
  const Nvic *n = c->cpu.nvic;
  if (c->cpu.sleeping == SLEEP_WFE && n->state.event) {
    c->cpu.nvic->state.event = false;
    return true;
  }
  if (!n->best) return false;
  if (c->cpu.sleeping == SLEEP_WFE) return priority_deliverable(c);
  int base = basepri_priority(&n->state, c->cpu.nonsecure, core_reg(c, REG_BASEPRI));
  return n->best_pending < lower(n->active_priority, base);
}
