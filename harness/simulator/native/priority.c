// Masks (Armv8-M ARM, B3, ExecutionPriority): whether the first pending exception can be taken now.
// The first is the more urgent one, then the lower number, then the secure one (goes_first() in
// nvic.c).
#include "priority.h"

#include "state.h"

static int lower(int one, int other) { return one < other ? one : other; }

// Returns the priority to which PRIMASK of a state boosts.
static int primask_priority(const NvicState *s, bool nonsecure) {
  return nonsecure && s->squashed ? SQUASHED : 0;
}

// Returns the priority to which FAULTMASK of a state boosts.
static int faultmask_priority(const NvicState *s, bool nonsecure) {
  if (!nonsecure) return s->faults_nonsecure ? -3 : -1;
  return s->faults_nonsecure ? -1 : primask_priority(s, nonsecure);
}

// Returns the priority to which BASEPRI of a state boosts; NO_PRIORITY if it masks nothing.
static int basepri_priority(const NvicState *s, bool nonsecure, uint32_t basepri) {
  int base = (int)(basepri & 0xFF) & s->group_masks[nonsecure];
  if (!base) return NO_PRIORITY;
  return nonsecure && s->squashed ? base / 2 + SQUASHED : base;
}

// Returns the highest priority of active exceptions and of both states' masks (Armv8-M ARM,
// ExecutionPriority).
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

// Returns the priority below which an exception wakes WFI: that of execution with PRIMASK clear
// (Armv8-M ARM, "Wait For Interrupt").
static int priority_of_wfi(Core *c) {
  const NvicState *s = &c->cpu.nvic->state;
  const int base = basepri_priority(s, c->cpu.nonsecure, core_reg(c, REG_BASEPRI));
  int now = lower(c->cpu.nvic->active_priority, base);
  if (core_reg(c, REG_FAULTMASK) & 1) now = lower(now, faultmask_priority(s, c->cpu.nonsecure));
  return now;
}

int priority_effect(Core *c, int number) {
  const Nvic *n = c->cpu.nvic;
  const bool is_event = (n->state.scr[0] | n->state.scr[1]) & SCR_SEVONPEND;
  int effect = is_event && !nvic_has(n, PENDING, number) ? WAKES_WFE : 0;
  if (!nvic_has(n, ENABLED, number)) return effect;
  const int priority = nvic_group_priority(n, number);
  if (priority < priority_now(c)) effect |= PREEMPTS | WAKES_WFE;
  if (priority < priority_of_wfi(c)) effect |= WAKES_WFI;
  return effect;
}

// Whether the sleep ends. WFI wakes for an exception that would be taken if PRIMASK were clear; WFE
// only for one that is taken, and for events.
bool priority_wakes(Core *c) {
  const Nvic *n = c->cpu.nvic;
  if (c->cpu.sleeping == SLEEP_WFE && n->state.event) {
    c->cpu.nvic->state.event = false;
    return true;
  }
  if (!n->best) return false;
  if (c->cpu.sleeping == SLEEP_WFE) return priority_deliverable(c);
  return n->best_pending < priority_of_wfi(c);
}
