// The security state of addresses: SAU and IDAU (Armv8-M ARM, B8; nRF9160 PS, "SPU").
//
// The chips' SAU has no regions: with SAU_CTRL.ALLNS it leaves the decision to the IDAU, which
// follows the SPU's regions; otherwise everything is secure. A violation detected by the processor
// is a SecureFault. One detected by the bus (a region's read, write and execute permissions) is a
// BusFault and an event of the SPU.
//
// Loads, stores and fetches are checked by Unicorn's page rights, which follow the current state.
// This costs no time until a region is made non-secure or restricted.
#include "attribution.h"

#include <string.h>

enum { ALLNS = 2 };  // SAU_CTRL, with ENABLE clear
enum { OPEN = PERM_EXECUTE | PERM_WRITE | PERM_READ | PERM_SECURE };
enum { FIRST_RAM_REGION = 64 };  // IDAU region numbers, as TT gives them: flash from 0
#define ALIAS_BITS 0xF0000000u   // of an address, which distinguish the two windows of devices

static uint32_t region_size(const Area *area) { return area->size / (uint32_t)area->regions; }

static int index_of(const Core *c, uint32_t address) {
  for (int i = 0; i < c->memory.code_count; i++) {
    if (address - c->memory.code[i].base < c->memory.code[i].size) return i;
  }
  return -1;
}

static uint8_t permission_of(const Core *c, int index, uint32_t address) {
  const Area *area = &c->memory.code[index];
  return c->attribution.permissions[index][(address - area->base) / region_size(area)];
}

int attribution_region(const Core *c, uint32_t address) {
  int index = index_of(c, address);
  if (index < 0) return -1;
  const Area *area = &c->memory.code[index];
  return (int)((address - area->base) / region_size(area)) + (index ? FIRST_RAM_REGION : 0);
}

bool attribution_is_secure(const Core *c, uint32_t address) {
  if (!c->attribution.idau_decides) return true;
  int index = index_of(c, address);
  if (index >= 0) return permission_of(c, index, address) & PERM_SECURE;
  if (((address ^ c->memory.windows[0].base) & ALIAS_BITS) == 0) return true;  // the secure one
  return memory_holding(&c->memory, address, 1) != NULL;                       // FICR and UICR
}

bool attribution_is_callable(const Core *c, uint32_t address) {
  for (int i = 0; i < c->attribution.gateway_count; i++) {
    if (address >= c->attribution.gateways[i].begin && address < c->attribution.gateways[i].end)
      return true;
  }
  return false;
}

bool attribution_refuses(Core *c, uint32_t address, int permission) {
  int index = index_of(c, address);
  if (index < 0 || permission_of(c, index, address) & permission) return false;
  if (!c->machine.failed) c->machine.violation(c, index);
  return true;
}

bool attribution_forbids(Core *c, uint32_t address, int size, bool write) {
  const uint32_t last = address + (uint32_t)size - 1;
  const bool straddles = address & ((uint32_t)size - 1);
  for (uint32_t at = address;; at = last) {
    if (c->cpu.nonsecure && attribution_is_secure(c, at)) {
      c->access.failure = (Failure){SECURE_FAULT, AUVIOL | SFARVALID};
      return true;
    }
    if (attribution_refuses(c, at, write ? PERM_WRITE : PERM_READ)) {
      c->access.failure = (Failure){BUS_FAULT, PRECISERR | BFARVALID};
      return true;
    }
    if (!straddles || at == last) return false;
  }
}

bool attribution_may_run(const Core *c, const Area *area, uint32_t address) {
  int index = (int)(area - c->memory.code);
  return !c->attribution.restricted ||
         !(permission_of(c, index, address) & PERM_SECURE) == c->cpu.nonsecure;
}

// page rights

static uint32_t rights_by(uint8_t permission) {
  return (permission & PERM_READ ? PAGE_READ : 0) | (permission & PERM_WRITE ? PAGE_WRITE : 0) |
         (permission & PERM_EXECUTE ? PAGE_EXECUTE : 0);
}

// Gives a stretch other rights. This cannot fail, since it consists of whole pages of mapped
// memory.
static bool protect(Core *c, Stretch *s, uint32_t rights) {
  if (s->in_force == rights) return false;
  c->unicorn.api.mem_protect(c->unicorn.handle, s->base, s->size, rights);
  s->in_force = rights;
  return true;
}

// Gives all pages their full rights again, since new stretches may overlap old ones.
static void open_pages(Core *c) {
  bool changed = false;
  for (int i = 0; i < c->attribution.stretch_count; i++) {
    changed |= protect(c, &c->attribution.stretches[i], c->attribution.stretches[i].full);
  }
  c->attribution.stretch_count = 0;
  if (changed) c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TLB);
}

static void enforce(Core *c) {
  bool changed = false;
  for (int i = 0; i < c->attribution.stretch_count; i++) {
    changed |= protect(c, &c->attribution.stretches[i],
                       c->attribution.stretches[i].rights[c->cpu.nonsecure]);
  }
  if (changed) c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TLB);
}

static void add(Core *c, const Stretch *s) {
  c->attribution.stretches[c->attribution.stretch_count++] = *s;
}

// Adds `one`. If `after` may not be read, the last page of `one` refuses loads, which are then
// checked one by one: Unicorn checks a load across two pages against the first page only.
static void add_guarded(Core *c, Stretch one, const Stretch *after) {
  Stretch last = one;
  for (int i = 0; after && i < 2; i++) last.rights[i] &= ~PAGE_READ | after->rights[i];
  if (!memcmp(last.rights, one.rights, sizeof last.rights)) {
    add(c, &one);
    return;
  }
  one.size -= PAGE;
  add(c, &one);
  last.base = one.base + one.size;
  last.size = PAGE;
  add(c, &last);
}

static void lay_out_area(Core *c, const Area *area, const uint8_t *permissions) {
  const uint32_t size = region_size(area);
  Stretch now = {0};
  for (uint32_t i = 0; i < (uint32_t)area->regions; i++) {
    uint32_t rights = area->rights & rights_by(permissions[i]);
    uint32_t other = permissions[i] & PERM_SECURE ? 0 : rights;
    const Stretch next = {area->base + i * size, size, {rights, other}, area->rights, area->rights};
    if (i && !memcmp(now.rights, next.rights, sizeof now.rights)) {
      now.size += size;
      continue;
    }
    if (i) add_guarded(c, now, &next);
    now = next;
  }
  add_guarded(c, now, NULL);
}

static void lay_out(Core *c) {
  for (int i = 0; i < c->memory.code_count; i++)
    lay_out_area(c, &c->memory.code[i], c->attribution.permissions[i]);
  for (int i = 0; i < c->memory.information_count; i++) {
    const Area *area = &c->memory.information[i];
    const uint32_t full = area->rights;
    add(c, &(Stretch){area->base, area->size, {full, 0}, full, full});
  }
}

static void update(Core *c) {
  bool open = true, divided = c->cpu.nonsecure;
  for (int i = 0; i < c->memory.code_count; i++) {
    for (int region = 0; region < c->memory.code[i].regions; region++) {
      open &= c->attribution.permissions[i][region] == OPEN;
      divided |= !(c->attribution.permissions[i][region] & PERM_SECURE);
    }
  }
  const bool was_restricted = c->attribution.stretch_count > 0;
  c->attribution.divided |= divided;
  c->attribution.restricted = c->cpu.nonsecure || !open;
  if (!c->attribution.restricted && !was_restricted) return;
  open_pages(c);
  core_invalidate(c);
  if (!c->attribution.restricted) return;
  core_watch_ram(c);
  lay_out(c);
  enforce(c);
}

void attribution_forget(Core *c) {
  for (int i = 0; i < c->devices.count; i++)
    c->devices.served[i].admitted[0] = c->devices.served[i].admitted[1] = false;
}

void attribution_set(Core *c, uint32_t sau_ctrl, const uint8_t *regions, const Gateway *gateways,
                     int count) {
  c->attribution.idau_decides = sau_ctrl == ALLNS;
  attribution_forget(c);
  for (int i = 0; i < c->memory.code_count; i++) {
    for (int region = 0; region < c->memory.code[i].regions; region++) {
      c->attribution.permissions[i][region] =
          *regions++ | (c->attribution.idau_decides ? 0 : PERM_SECURE);
    }
  }
  c->attribution.gateway_count = count;
  memcpy(c->attribution.gateways, gateways, (size_t)count * sizeof *gateways);
  update(c);
}

void attribution_follow(Core *c) {
  if (c->cpu.nonsecure && !c->attribution.restricted) update(c);
  enforce(c);
}

void attribution_reset(Core *c) {
  open_pages(c);
  memset(c->attribution.permissions, OPEN, sizeof c->attribution.permissions);
  c->attribution.gateway_count = 0;
  c->attribution.idau_decides = c->attribution.divided = c->attribution.restricted = false;
  core_invalidate(c);
}
