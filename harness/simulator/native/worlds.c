// The two security states (Armv8-M ARM, B3): which of them runs, what its masks mean, and
// where its code may run.
//
// Unicorn's core is always in secure state. Its secure bank holds the registers of the state that
// runs; a change of the state exchanges the banks. Blocks are decoded for one state: one that was
// decoded for the other is decoded again when it is looked up, and one that may not run is refused.
#include "core.h"

static int lower(int one, int other) { return one < other ? one : other; }

// The priority that a new exception must be below: that of active exceptions and of both masks.
int core_priority(Core *c) {
  const NvicState *s = &c->nvic->state;
  int now = lower(c->nvic->active_priority, c->other_priority);
  if (core_reg(c, REG_FAULTMASK) & 1) now = lower(now, c->faultmask_priority);
  if (core_reg(c, REG_PRIMASK) & 1) now = lower(now, c->primask_priority);
  int base = (int)(core_reg(c, REG_BASEPRI) & 0xFF) & s->group_masks[c->nonsecure];
  if (base && c->nonsecure && s->squashed) base = base / 2 + 0x80;
  return base ? lower(now, base) : now;
}

int core_context(const Core *c) {
  return (c->fp_disabled ? CONTEXT_NO_FP : 0) | (c->nonsecure ? CONTEXT_NONSECURE : 0);
}

static bool has_right(const Core *c, const Area *area, uint32_t address, int right) {
  if (!area->rights) return true;
  return area->rights[(address - area->base) >> GRANULE_SHIFT] >> (right + c->nonsecure) & 1;
}

bool core_may_run(const Core *c, const Area *area, uint32_t address) {
  return has_right(c, area, address, 0);
}

bool core_may_stack(const Core *c, const Area *area, uint32_t address) {
  return has_right(c, area, address, 2);
}

void core_change_world(Core *c) {
  state_exchange_banks(c);
  core_set_reg(c, REG_APSR_NZCV, core_reg(c, REG_XPSR) & 0xF0000000u);  // Unicorn's mode
  c->nonsecure = !c->nonsecure;
  c->generation ^= 1;
  c->again = 1;
  c->sequential = 0;
}
