// The MPU's registers (Armv8-M ARM, D1.2, MPU_*), and when they take effect.
#include <string.h>

#include "core.h"

enum { TYPE = 0x90, CTRL = 0x94, RNR = 0x98, RBAR = 0x9C, ALIASES_END = 0xBC, MAIR0 = 0xC0 };

static bool runs(const Mpu *m) { return m->core && m->core->nonsecure == m->nonsecure; }

// The register behind RBAR, RLAR or one of their aliases; NULL if there is none.
static uint32_t *region_register(Mpu *m, uint32_t offset) {
  uint32_t alias = (offset - RBAR) >> 3, number = m->state.number;
  if (offset < RBAR || offset >= ALIASES_END) return NULL;
  if (alias) number = (number & ~3u) + alias;
  if (number >= (uint32_t)m->count) return NULL;
  return (offset - RBAR) & 4 ? &m->state.regions.limits[number] : &m->state.regions.bases[number];
}

uint32_t mpu_read(const Mpu *m, uint32_t offset) {
  if (offset == TYPE) return (uint32_t)m->count << 8;
  if (offset == CTRL) return m->state.regions.ctrl;
  if (offset == RNR) return m->state.number;
  if (offset >= MAIR0) return m->state.attributes[(offset - MAIR0) / 4];
  const uint32_t *found = region_register((Mpu *)m, offset);
  return found ? *found : 0;
}

static void set_control(Mpu *m, uint32_t value) {
  if (value == m->state.regions.ctrl) return;
  m->state.regions.ctrl = value;
  if (!runs(m)) return;
  m->core->stop_after = m->core->stale = true;
  core_limit(m->core);
}

static void set_region(Mpu *m, uint32_t offset, uint32_t value) {
  uint32_t *found = region_register(m, offset);
  if (!found || *found == value) return;
  *found = value;
  if (!(m->state.regions.ctrl & MPU_ENABLE) || !runs(m)) return;
  m->core->stale = true;
  core_limit(m->core);
}

void mpu_write(Mpu *m, uint32_t offset, uint32_t value) {
  if (offset == CTRL) {
    set_control(m, value & (MPU_ENABLE | MPU_HFNMIENA | MPU_PRIVDEFENA));
  } else if (offset == RNR) {
    m->state.number = value & 0xFF;
  } else if (offset >= MAIR0) {
    m->state.attributes[(offset - MAIR0) / 4] = value;
  } else {
    set_region(m, offset, value);
  }
}

// Is the priority below zero, so that the MPU checks nothing unless HFNMIENA is set (Armv8-M ARM,
// IsReqExecPriNeg)?
static bool is_negative(Core *c) {
  int hard_fault = HARD_FAULT | (c->nonsecure ? NONSECURE : 0);
  if (nvic_has(c->nvic, ACTIVE, hard_fault)) return true;
  bool nmi_is_other = nvic_has(c->nvic, TARGETS_NONSECURE, NMI) != c->nonsecure;
  if (!nmi_is_other && nvic_has(c->nvic, ACTIVE, NMI)) return true;
  return core_reg(c, REG_FAULTMASK) & 1;
}

// Put the MPU of the running security state in force, by its registers and the priority.
void core_synchronize(Core *c) {
  const Regions *wanted = &c->mpus[c->nonsecure]->state.regions;
  const size_t size = sizeof wanted->bases;
  uint32_t ctrl = wanted->ctrl;
  c->mpu_negative = is_negative(c);
  if (!(ctrl & MPU_ENABLE) || (c->mpu_negative && !(ctrl & MPU_HFNMIENA))) ctrl = 0;
  c->stale = false;
  bool told = ctrl == c->asked.ctrl && !memcmp(wanted->bases, c->asked.bases, size) &&
              !memcmp(wanted->limits, c->asked.limits, size);
  if (told || (!ctrl && c->mpu_off)) {
    core_limit(c);
  } else {
    state_protect(c, ctrl, wanted);
  }
}
