// The registers of an MPU (Armv8-M ARM, D1.2, MPU_*), and its access checks.
#include "mpu.h"

#include <stddef.h>

enum { ENABLE = 1, READ_ONLY = 4, UNPRIVILEGED = 2 };  // of RLAR, RBAR
enum { TYPE = 0x90, CTRL = 0x94, RNR = 0x98, RBAR = 0x9C, ALIASES_END = 0xBC, MAIR0 = 0xC0 };

// Returns the region that contains an address, or MPU_NO_REGION or MPU_SEVERAL_REGIONS.
int mpu_region_at(const Regions *r, uint32_t address) {
  int hit = MPU_NO_REGION;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!(r->limits[i] & ENABLE) || address < mpu_first(r, i) || address > mpu_last(r, i)) continue;
    if (hit >= 0) return MPU_SEVERAL_REGIONS;
    hit = i;
  }
  return hit;
}

// Whether data at this address may be accessed while the MPU is on.
bool mpu_allows(const Regions *r, uint32_t address, bool write, bool privileged) {
  int hit = mpu_region_at(r, address);
  if (hit == MPU_NO_REGION) return privileged && r->ctrl & MPU_PRIVDEFENA;
  if (hit == MPU_SEVERAL_REGIONS || (write && r->bases[hit] & READ_ONLY)) return false;
  return privileged || r->bases[hit] & UNPRIVILEGED;
}

bool mpu_makes_device(const Mpu *m, int region) {
  const uint32_t limit = m->state.regions.limits[region], index = limit >> 1 & 7;
  return limit & ENABLE && !(m->state.attributes[index >> 2] >> 8 * (index & 3) & 0xF0);
}

bool mpu_is_device(const Mpu *m, uint32_t address) {
  const int region = mpu_region_at(&m->state.regions, address);
  return region >= 0 && mpu_makes_device(m, region);
}

// Returns the register of RBAR, RLAR or one of their aliases; NULL if there is none.
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
  if (m->changed) m->changed(m, true);
}

static void set_attributes(Mpu *m, uint32_t *attributes, uint32_t value) {
  if (*attributes == value) return;
  *attributes = value;
  if (m->changed && m->state.regions.ctrl & MPU_ENABLE) m->changed(m, false);
}

static void set_region(Mpu *m, uint32_t offset, uint32_t value) {
  uint32_t *found = region_register(m, offset);
  if (!found || *found == value) return;
  *found = value;
  if (m->changed && m->state.regions.ctrl & MPU_ENABLE) m->changed(m, false);
}

void mpu_write(Mpu *m, uint32_t offset, uint32_t value) {
  if (offset == CTRL) {
    set_control(m, value & (MPU_ENABLE | MPU_HFNMIENA | MPU_PRIVDEFENA));
  } else if (offset == RNR) {
    m->state.number = value & 0xFF;
  } else if (offset >= MAIR0) {
    set_attributes(m, &m->state.attributes[(offset - MAIR0) / 4], value);
  } else {
    set_region(m, offset, value);
  }
}
