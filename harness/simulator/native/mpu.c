// What the MPU allows, and whether a change of its regions takes anything away.
//
// Unicorn remembers for each page what was allowed when the page was first used. It need not be
// told of a right that is added: an access that is not remembered as allowed is looked up again.
// The same holds for data in a page in which a region ends, where each access is looked up; but
// code that ran there is found again without a lookup. Only if a right is taken away must Unicorn
// forget all pages, which costs about 2 us and a lookup for each page in use. It costs 1,000 times
// as much if Unicorn's count of used pages is below zero (it subtracts twice a page whose accesses
// it looks up), because Unicorn then doubles a table: one more reason to avoid such pages.
//
// Unicorn stores to a page at full speed only if no code can run there. In other pages each store
// looks for translations to drop, which makes a program half as fast. So data RAM is execute-never
// until code runs there for the first time: all of it while the firmware's MPU is off, and while it
// is on the part that only its background allows.
#include <string.h>

#include "core.h"

enum {
  READ = 1,
  WRITE = 2,
  FETCH = 4,
  LEVELS = 3
};  // rights of one level; two levels side by side
enum { ALL = READ | WRITE | FETCH, FETCHES = FETCH | FETCH << LEVELS, GRANULE = 32 };
enum { ENABLE = 1, READ_ONLY = 4, UNPRIVILEGED = 2, NEVER_EXECUTE = 1 };
enum { ALWAYS = 3 };  // MPU_CTRL: on, whatever the priority
#define MIXED 0x80
#define MOST_PAGES 64

static uint32_t first_of(const Regions *r, int i) { return r->bases[i] & ~31u; }
static uint32_t last_of(const Regions *r, int i) { return r->limits[i] | 31; }
static bool enabled(const Regions *r, int i) {
  return (r->limits[i] & ENABLE) && last_of(r, i) >= first_of(r, i);
}

// The region that holds an address, or MPU_NO_REGION or MPU_SEVERAL_REGIONS.
int mpu_region_at(const Regions *r, uint32_t address) {
  int hit = MPU_NO_REGION;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!(r->limits[i] & ENABLE) || address < first_of(r, i) || address > last_of(r, i)) continue;
    if (hit >= 0) return MPU_SEVERAL_REGIONS;
    hit = i;
  }
  return hit;
}

// May data be accessed at this address while the MPU is on?
bool mpu_allows(const Regions *r, uint32_t address, bool write, bool privileged) {
  int hit = mpu_region_at(r, address);
  if (hit == MPU_NO_REGION) return privileged && r->ctrl & MPU_PRIVDEFENA;
  if (hit == MPU_SEVERAL_REGIONS || (write && r->bases[hit] & READ_ONLY)) return false;
  return privileged || r->bases[hit] & UNPRIVILEGED;
}

// Rights to all of [from, to], unprivileged ones above privileged ones; MIXED if a region ends in
// between.
static uint8_t rights(const Regions *r, uint32_t from, uint32_t to) {
  int hit = -1;
  if (!(r->ctrl & MPU_ENABLE)) return ALL | ALL << LEVELS;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!enabled(r, i) || last_of(r, i) < from || first_of(r, i) > to) continue;
    if (first_of(r, i) > from || last_of(r, i) < to) return MIXED;
    if (hit >= 0) return 0;
    hit = i;
  }
  // Without a region the default memory map decides from where code may be fetched.
  if (hit < 0) return r->ctrl & MPU_PRIVDEFENA ? ALL : 0;
  uint8_t level = r->bases[hit] & READ_ONLY ? READ : READ | WRITE;
  if (!(r->bases[hit] & NEVER_EXECUTE)) level |= FETCH;
  return (uint8_t)(r->bases[hit] & UNPRIVILEGED ? level | level << LEVELS : level);
}

static bool code_ran(const Core *c, uint32_t page) {
  for (int i = 0; i < c->code_count; i++) {
    const Area *area = &c->code[i];
    if (page - area->base >= area->size) continue;
    const uint8_t *covered = area->covered + ((page - area->base) >> 4);
    for (int at = 0; at < PAGE / 16; at++) {
      if (covered[at]) return true;
    }
  }
  return false;
}

static bool loses_fetches(const Regions *before, const Regions *after, uint32_t page) {
  for (uint32_t at = page; at - page < PAGE; at += GRANULE) {
    uint8_t had = rights(before, at, at + GRANULE - 1), has = rights(after, at, at + GRANULE - 1);
    if (had & ~has & FETCHES) return true;
  }
  return false;
}

// Does any page between two addresses lose a right?
static bool loses(const Core *c, const Regions *before, const Regions *after, uint32_t from,
                  uint32_t to) {
  if (to - from >= MOST_PAGES * PAGE) return true;
  for (uint32_t page = from & ~(uint32_t)(PAGE - 1);; page += PAGE) {
    uint8_t had = rights(before, page, page + PAGE - 1), has = rights(after, page, page + PAGE - 1);
    if (had != MIXED && (has == MIXED || (had & ~has & ~FETCHES))) return true;
    if (code_ran(c, page) && loses_fetches(before, after, page)) return true;
    if (to - page < PAGE) return false;
  }
}

// Does code that has run lose the right to run? If data is stored there later, its translations
// would stay.
bool mpu_stops_code(const Core *c, const Regions *before, const Regions *after) {
  for (int i = 0; i < c->code_count && c->ram_runs; i++) {
    const Area *area = &c->code[i];
    if (area->stable) continue;
    for (uint32_t page = area->base; page - area->base < area->size; page += PAGE) {
      if (code_ran(c, page) && loses_fetches(before, after, page)) return true;
    }
  }
  return false;
}

static void add(Regions *r, int *count, uint32_t from, uint32_t to, uint32_t flags) {
  if (from > to) return;
  r->bases[*count] = from | UNPRIVILEGED | flags;
  r->limits[(*count)++] = (to & ~31u) | ENABLE;
}

// The default memory map (Armv8-M ARM, "The system address map") as regions, except for data RAM.
void mpu_open(const Core *c, Regions *r) {
  const Area *ram = core_ram(c);
  int count = 0;
  memset(r, 0, sizeof *r);
  r->ctrl = ALWAYS;
  add(r, &count, 0, ram->base - 1, 0);
  add(r, &count, ram->base, ram->base + ram->size - 1, NEVER_EXECUTE);
  add(r, &count, ram->base + ram->size, 0x3FFFFFFF, 0);
  add(r, &count, 0x40000000, 0x5FFFFFFF, NEVER_EXECUTE);
  add(r, &count, 0x60000000, 0x9FFFFFFF, 0);
  add(r, &count, 0xA0000000, 0xFFFFFFFF, NEVER_EXECUTE);
}

// The first address from `at` on that is in no region; `*end`: the last one before the next region.
static uint32_t gap_from(const Regions *r, uint32_t at, uint32_t last, uint32_t *end) {
  *end = last;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!enabled(r, i) || last_of(r, i) < at || first_of(r, i) > last) continue;
    if (first_of(r, i) <= at) {
      if (last_of(r, i) >= last) return last + 1;
      return gap_from(r, last_of(r, i) + 1, last, end);
    }
    if (first_of(r, i) <= *end) *end = first_of(r, i) - 1;
  }
  return at;
}

static void unfill(Regions *r) {
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (r->fillers >> i & 1) r->limits[i] &= ~(uint32_t)ENABLE;
  }
  r->fillers = 0;
}

// Cover with unused regions the data RAM that only the background allows: loads and stores as
// before, but execute-never. Does nothing if there are too few regions.
void mpu_fill(const Core *c, Regions *r) {
  const Area *ram = core_ram(c);
  const uint32_t last = ram->base + ram->size - 1;
  uint32_t end;
  if (!(r->ctrl & MPU_ENABLE) || !(r->ctrl & MPU_PRIVDEFENA)) return;
  for (uint32_t at = gap_from(r, ram->base, last, &end); at <= last;
       at = gap_from(r, at, last, &end)) {
    int i = 0;
    while (i < MPU_REGIONS && enabled(r, i)) i++;
    if (i == MPU_REGIONS) {
      unfill(r);
      return;
    }
    r->bases[i] = at | NEVER_EXECUTE;
    r->limits[i] = (end & ~31u) | ENABLE;
    r->fillers |= 1u << i;
  }
}

bool mpu_is_filled(const Core *c, uint32_t address) {
  int hit = mpu_region_at(&c->in_force, address);
  return hit >= 0 && c->in_force.fillers >> hit & 1;
}

bool mpu_shrinks(const Core *c, const Regions *before, const Regions *after) {
  if (before->ctrl != after->ctrl || !before->fillers != !after->fillers) return true;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (before->bases[i] == after->bases[i] && before->limits[i] == after->limits[i]) continue;
    // Outside the firmware's regions, fillers give the same rights as other fillers.
    bool filled = before->fillers >> i & 1, fills = after->fillers >> i & 1;
    if (!filled && enabled(before, i) &&
        loses(c, before, after, first_of(before, i), last_of(before, i))) {
      return true;
    }
    if (!fills && enabled(after, i) &&
        loses(c, before, after, first_of(after, i), last_of(after, i))) {
      return true;
    }
  }
  return false;
}
