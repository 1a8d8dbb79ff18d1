// Memory as the processor's own accesses see it (Armv8-M ARM, B3.18 to B3.22).
#include "frame.h"

#include "attribution.h"
#include "fault.h"
#include "state.h"
#include "thumb.h"

enum { GRANULE = 32 };

static Failure failure(int cause, uint32_t status) { return (Failure){cause, status}; }

// Whether the MPU allows all of an access; a negative priority may switch it off.
static bool mpu_allows_all(const Core *c, const Accessor *by, uint32_t address, uint32_t size,
                           bool write) {
  const Regions *regions = &c->mpu.banks[by->nonsecure]->state.regions;
  if (!(regions->ctrl & MPU_ENABLE)) return true;
  if (by->negative && !(regions->ctrl & MPU_HFNMIENA)) return true;
  for (uint32_t at = address; at - address < size; at = (at | (GRANULE - 1)) + 1) {
    if (!mpu_allows(regions, at, write, by->privileged)) return false;
  }
  return true;
}

static bool bus_refuses(Core *c, uint32_t address, uint32_t size, int permission) {
  return c->attribution.restricted && (attribution_refuses(c, address, permission) ||
                                       attribution_refuses(c, address + size - 1, permission));
}

uint8_t *frame_of(Core *c, const Accessor *by, uint32_t address, uint32_t size, bool write,
                  Failure *why) {
  const Area *area = memory_holding(&c->memory, address, size);
  if (area && write && area != memory_ram(&c->memory)) area = NULL;
  for (uint32_t at = address; by->nonsecure && at - address < size; at += 4) {
    if (!attribution_is_secure(c, at)) continue;
    *why = failure(SECURE_FAULT, AUVIOL | SFARVALID);
    c->cpu.shared->sfar = at;
    return NULL;
  }
  if (!mpu_allows_all(c, by, address, size, write)) {
    *why = failure(MEM_MANAGE | (by->nonsecure ? NONSECURE : 0), write ? MSTKERR : MUNSTKERR);
    return NULL;
  }
  if (!area || bus_refuses(c, address, size, write ? PERM_WRITE : PERM_READ)) {
    *why = failure(BUS_FAULT, write ? STKERR : UNSTKERR);
    return NULL;
  }
  return area->host + (address - area->base);
}

uint8_t *frame_at(Core *c, uint32_t address, uint32_t size, bool write, bool privileged,
                  Failure *why) {
  return frame_of(c, &(Accessor){c->cpu.nonsecure, privileged, c->mpu.negative}, address, size,
                  write, why);
}

const uint32_t *frame_address(const Core *c, Failure why) {
  bool valid = why.cause == SECURE_FAULT && why.status & SFARVALID;
  return valid ? &c->cpu.shared->sfar : NULL;
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
