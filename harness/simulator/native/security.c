// The two security states (Armv8-M ARM, B3): which of them runs, what its masks mean, and the
// change between them.
//
// Unicorn's core is always in secure state. Its secure bank holds the registers of the state that
// runs; a change of the state exchanges the banks. Blocks are decoded for one state: one that was
// decoded for the other is decoded again when it is looked up, and one that may not run is refused.
#include "attribution.h"
#include "core.h"

enum { NPRIV = 1, SFPA = 8, CP10 = 20, NSACR_CP10 = 10 };
enum { SQUASHED = 0x80 };  // with AIRCR.PRIS the non-secure priorities start here

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
int core_priority(Core *c) {
  const NvicState *s = &c->nvic->state;
  int now = lower(c->nvic->active_priority, c->other_priority);
  if (core_reg(c, REG_FAULTMASK) & 1) now = lower(now, faultmask_priority(s, c->nonsecure));
  if (core_reg(c, REG_PRIMASK) & 1) now = lower(now, primask_priority(s, c->nonsecure));
  return lower(now, basepri_priority(s, c->nonsecure, core_reg(c, REG_BASEPRI)));
}

void core_update_masks(Core *c) {
  const NvicState *s = &c->nvic->state;
  const bool other = !c->nonsecure;
  uint32_t masks[4];  // PRIMASK, FAULTMASK, BASEPRI, CONTROL
  state_other(c, masks);
  int now = basepri_priority(s, other, masks[2]);
  if (masks[0]) now = lower(now, primask_priority(s, other));
  if (masks[1]) now = lower(now, faultmask_priority(s, other));
  c->other_priority = now;
}

// Does a pending exception end the sleep? WFI wakes for what would be taken if PRIMASK were clear;
// WFE only for what is taken, and for events.
bool core_wakes(Core *c) {
  const Nvic *n = c->nvic;
  if (c->sleeping == SLEEP_WFE && n->state.event) {
    c->nvic->state.event = false;
    return true;
  }
  if (!n->best) return false;
  if (c->sleeping == SLEEP_WFE) return core_deliverable(c);
  int base = basepri_priority(&n->state, c->nonsecure, core_reg(c, REG_BASEPRI));
  return n->best_pending < lower(n->active_priority, base);
}

bool core_is_privileged(Core *c) {
  return core_reg(c, REG_XPSR) & 0x1FF || !(core_reg(c, REG_CONTROL) & NPRIV);
}

int core_context(const Core *c) {
  return (c->fp_disabled ? CONTEXT_NO_FP : 0) | (c->nonsecure ? CONTEXT_NONSECURE : 0);
}

static bool allows_fp(const Core *c, bool nonsecure) {
  if (!(c->scb[nonsecure]->cpacr >> CP10 & 3)) return false;
  return !nonsecure || c->shared->nsacr >> NSACR_CP10 & 1;
}

void core_update_fp_access(Core *c) {
  const bool before[2] = {c->fp_allowed[0], c->fp_allowed[1]};
  for (int i = 0; i < 2; i++) c->fp_allowed[i] = allows_fp(c, i);
  c->fp_disabled = !c->fp_allowed[c->nonsecure];
  if (before[0] != c->fp_allowed[0] || before[1] != c->fp_allowed[1]) core_invalidate(c);
}

// The state alone: the registers are those of this state already.
void core_set_state(Core *c, bool nonsecure) {
  c->nonsecure = nonsecure;
  c->generation = (uint16_t)((c->generation & ~1) | nonsecure);
  c->again = 1;
}

// Go on in the other state; the secure one is entered without an FP context. While non-secure code
// runs, Unicorn's SFPA stays set, so that its FP context is kept.
void core_change_state(Core *c) {
  state_exchange_banks(c);
  core_set_reg(c, REG_APSR_NZCV, core_reg(c, REG_XPSR) & 0xF0000000u);  // Unicorn's mode
  core_set_state(c, !c->nonsecure);
  c->sequential = 0;
  c->fp_disabled = !c->fp_allowed[c->nonsecure];
  attribution_follow(c);
  core_update_masks(c);
  core_synchronize(c);
  uint32_t control = core_reg(c, REG_CONTROL) & ~(uint32_t)SFPA;
  core_set_reg(c, REG_CONTROL, control | (c->nonsecure ? SFPA : 0));
}

// Out of reset, the core is in secure state.
void core_reset(Core *c) {
  c->locked_up = false;
  c->sleeping = AWAKE;
  core_set_state(c, false);
  attribution_reset(c);
  core_update_fp_access(c);
  core_update_masks(c);
  core_synchronize(c);
}
