// The two security states (Armv8-M ARM, B3): the current one, its masks, and the change between
// them.
//
// Unicorn's core is always in secure state. Its secure bank has the registers of the current state;
// a change of the state exchanges the banks. Blocks are decoded for one state: one that was decoded
// for the other is decoded again when it is looked up, and one that may not run is refused.
#include "security.h"

#include "attribution.h"
#include "priority.h"
#include "protection.h"
#include "state.h"
#include "thumb.h"

enum { CP10 = 20, NSACR_CP10 = 10 };  // bits of CPACR, of NSACR

bool security_is_privileged(Core *c) {
  return core_reg(c, REG_XPSR) & 0x1FF || !(core_reg(c, REG_CONTROL) & NPRIV);
}

int security_context(const Core *c) {
  return (c->cpu.fp_disabled ? CONTEXT_NO_FP : 0) | (c->cpu.nonsecure ? CONTEXT_NONSECURE : 0);
}

bool security_cpacr_allows(const Core *c, bool nonsecure) {
  return c->cpu.scb[nonsecure]->cpacr >> CP10 & 3;
}

bool security_nsacr_allows(const Core *c) { return c->cpu.shared->nsacr >> NSACR_CP10 & 1; }

static bool allows_fp(const Core *c, bool nonsecure) {
  return security_cpacr_allows(c, nonsecure) && (!nonsecure || security_nsacr_allows(c));
}

void security_update_fp_access(Core *c) {
  const bool before[2] = {c->cpu.fp_allowed[0], c->cpu.fp_allowed[1]};
  for (int i = 0; i < 2; i++) c->cpu.fp_allowed[i] = allows_fp(c, i);
  c->cpu.fp_disabled = !c->cpu.fp_allowed[c->cpu.nonsecure];
  const ScbBank *secure = c->cpu.scb[0], *other = c->cpu.scb[1];
  c->cpu.fp_lazy = (secure->fpccr | other->fpccr) & FPCCR_LSPACT;
  c->block.looks = LOOK_OPERANDS | (c->cpu.fp_lazy ? LOOK_FLOATING : 0);
  c->block.again = 1;
  state_set_fpu(c, (uint32_t[]){secure->fpccr, other->fpccr},
                (uint32_t[]){secure->fpdscr, other->fpdscr});
  if (before[0] != c->cpu.fp_allowed[0] || before[1] != c->cpu.fp_allowed[1]) core_invalidate(c);
}

// Sets the state only: the registers are already those of this state.
void security_set_state(Core *c, bool nonsecure) {
  c->cpu.nonsecure = nonsecure;
  c->block.generation = (uint16_t)((c->block.generation & ~1) | nonsecure);
  c->block.again = 1;
}

// Changes to the other state; the secure one is entered without an FP context. While non-secure
// code runs, Unicorn's SFPA stays set, so that its FP context is kept.
void security_change_state(Core *c) {
  state_exchange_banks(c);
  core_refresh_mode(c);
  security_set_state(c, !c->cpu.nonsecure);
  c->block.sequential = 0;
  c->cpu.fp_disabled = !c->cpu.fp_allowed[c->cpu.nonsecure];
  attribution_follow(c);
  priority_update_masks(c);
  protection_synchronize(c);
  uint32_t control = core_reg(c, REG_CONTROL) & ~(uint32_t)SFPA;
  core_set_reg(c, REG_CONTROL, control | (c->cpu.nonsecure ? SFPA : 0));
}

// Resets the core to the secure state.
void security_reset(Core *c) {
  c->cpu.locked_up = false;
  c->cpu.sleeping = AWAKE;
  security_set_state(c, false);
  attribution_reset(c);
  security_update_fp_access(c);
  priority_update_masks(c);
  protection_synchronize(c);
}
