// What the MPU allows, and whether a change of its regions takes anything away.
//
// Unicorn remembers of each page what was allowed when the page was first used. A right that is
// added needs no telling: the access is looked up again where it is not remembered. Nor does a page
// in which a region ends, which is looked up at each access. Only what is taken away from a whole
// page makes Unicorn forget all pages, which costs some 2 us and a lookup for each page in use; now
// and then 1,000 times as much, as Unicorn then doubles a table when its count of used pages has
// gone below zero (a device's page that is put out of the table is counted out twice).
#include "core.h"

enum {
  READ = 1,
  WRITE = 2,
  FETCH = 4,
  LEVELS = 3
};  // rights of one level; two levels side by side
enum { ENABLE = 1, READ_ONLY = 4, UNPRIVILEGED = 2, NEVER_EXECUTE = 1, BACKGROUND = 4 };
#define MIXED 0x80
#define MOST_PAGES 64

static uint32_t first_of(const Regions *r, int i) { return r->bases[i] & ~31u; }
static uint32_t last_of(const Regions *r, int i) { return r->limits[i] | 31; }
static bool enabled(const Regions *r, int i) {
  return (r->limits[i] & ENABLE) && last_of(r, i) >= first_of(r, i);
}

// Rights to a whole page, unprivileged ones above privileged ones; MIXED where a region ends in it.
static uint8_t rights(const Regions *r, uint32_t page) {
  uint32_t end = page | (PAGE - 1);
  int hit = -1;
  if (!(r->ctrl & ENABLE)) return (READ | WRITE | FETCH) | (READ | WRITE | FETCH) << LEVELS;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!enabled(r, i) || last_of(r, i) < page || first_of(r, i) > end) continue;
    if (first_of(r, i) > page || last_of(r, i) < end) return MIXED;
    if (hit >= 0) return 0;
    hit = i;
  }
  // Where code may be fetched from memory without a region is the default map's matter.
  if (hit < 0) return r->ctrl & BACKGROUND ? READ | WRITE | FETCH : 0;
  uint8_t level = r->bases[hit] & READ_ONLY ? READ : READ | WRITE;
  if (!(r->bases[hit] & NEVER_EXECUTE)) level |= FETCH;
  return (uint8_t)(r->bases[hit] & UNPRIVILEGED ? level | level << LEVELS : level);
}

// Does a page between two addresses lose a right?
static bool loses(const Regions *before, const Regions *after, uint32_t from, uint32_t to) {
  if (to - from >= MOST_PAGES * PAGE) return true;
  for (uint32_t page = from & ~(uint32_t)(PAGE - 1);; page += PAGE) {
    uint8_t had = rights(before, page), has = rights(after, page);
    if (had != MIXED && (has == MIXED || (had & ~has))) return true;
    if (to - page < PAGE) return false;
  }
}

bool mpu_shrinks(const Regions *before, const Regions *after) {
  if (before->ctrl != after->ctrl) return true;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (before->bases[i] == after->bases[i] && before->limits[i] == after->limits[i]) continue;
    if (enabled(before, i) && loses(before, after, first_of(before, i), last_of(before, i))) {
      return true;
    }
    if (enabled(after, i) && loses(before, after, first_of(after, i), last_of(after, i))) {
      return true;
    }
  }
  return false;
}
