// Memory as the processor's own accesses see it (Armv8-M ARM, B3.18 to B3.22).
#include "frame.h"

#include "attribution.h"
#include "fault.h"
#include "state.h"
#include "thumb.h"

enum { GRANULE = 32 };

static Failure failure(int cause, uint32_t status) { return (Failure){cause, status}; }

// Does the MPU of the running state check accesses? A negative priority may switch it off.
static bool mpu_checks(const Core *c) {
  uint32_t ctrl = c->mpu.banks[c->cpu.nonsecure]->state.regions.ctrl;
  return ctrl & MPU_ENABLE && (ctrl & MPU_HFNMIENA || !c->mpu.negative);
}

static bool mpu_allows_all(const Core *c, uint32_t address, uint32_t size, bool write,
                           bool privileged) {
  const Regions *regions = &c->mpu.banks[c->cpu.nonsecure]->state.regions;
  for (uint32_t at = address; at - address < size; at = (at | (GRANULE - 1)) + 1) {
    if (!mpu_allows(regions, at, write, privileged)) return false;
  }
  return true;
}

static bool bus_refuses(Core *c, uint32_t address, uint32_t size, int permission) {
  return c->attribution.restricted && (attribution_refuses(c, address, permission) ||
                                       attribution_refuses(c, address + size - 1, permission));
}

uint8_t *frame_at(Core *c, uint32_t address, uint32_t size, bool write, bool privileged,
                  Failure *why) {
  const Area *area = memory_holding(&c->memory, address, size);
  if (area && write && area != memory_ram(&c->memory)) area = NULL;
  if (c->cpu.nonsecure &&
      (attribution_is_secure(c, address) || attribution_is_secure(c, address + size - 1))) {
    *why = failure(SECURE_FAULT, AUVIOL);
    return NULL;
  }
  if (mpu_checks(c) && !mpu_allows_all(c, address, size, write, privileged)) {
    *why = failure(fault_own(c, MEM_MANAGE), write ? MSTKERR : MUNSTKERR);
    return NULL;
  }
  if (!area || bus_refuses(c, address, size, write ? PERM_WRITE : PERM_READ)) {
    *why = failure(BUS_FAULT, write ? STKERR : UNSTKERR);
    return NULL;
  }
  return area->host + (address - area->base);
}

uint32_t frame_limit(Core *c, bool process) {
  uint32_t psplim = 0, msplim = 0;
  if (c->cpu.extras & EXTRA_LIMITS) state_limits(c, &psplim, &msplim);
  return process ? psplim : msplim;
}

Failure frame_failure_of_data(Failure why) {
  why.status = why.cause == MEM_MANAGE ? DACCVIOL | MMARVALID : PRECISERR | BFARVALID;
  return why;
}
