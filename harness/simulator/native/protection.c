// The MPU in force, with which Unicorn checks loads, stores and fetches.
//
// A region of whole pages costs nothing; in a page in which a region ends, each access takes about
// 0.1 us more. Changes of MPU_CTRL take effect with the instruction, those of regions with the next
// block of code: before the next ISB, as the architecture guarantees, and after a few instructions
// at most, as on the chip. Zephyr 3.1 uses a stack before any barrier.
//
// Unicorn caches the rights of each page at its first use. The cache stays valid when a right is
// added: an access that it does not allow is looked up again. It also stays valid for data in a
// page in which a region ends, where each access is looked up; but code that has run there is found
// again without a lookup. Only if a right is removed must the cache be flushed, which takes about 2
// us and a lookup for each page in use. It takes 1,000 times as long if Unicorn's count of used
// pages is negative (it subtracts a page with looked-up accesses twice), because Unicorn then
// doubles a table: another reason to avoid such pages.
//
// Unicorn stores to a page at full speed only if no code can run there. In other pages each store
// searches for translations to drop, which halves the speed of a program. Data RAM is therefore
// execute-never until code runs there for the first time: all of it while the firmware's MPU is
// off, and while it is on the part that only its background allows.
//
// A kernel moves regions of data RAM with each change of threads, although privileged code may load
// and store there without them. Regions that give privileged code the same rights as the background
// are therefore folded into it, until unprivileged code needs one of them or the firmware changes a
// region.
#include "protection.h"

#include <string.h>

#include "state.h"

enum {
  READ = 1,
  WRITE = 2,
  FETCH = 4,
  LEVELS = 3
};  // rights of one level, of which a byte has two
enum { ALL = READ | WRITE | FETCH, FETCHES = FETCH | FETCH << LEVELS, GRANULE = 32 };
enum { ENABLE = 1, READ_ONLY = 4, UNPRIVILEGED = 2, NEVER_EXECUTE = 1 };
enum { ALWAYS = 3 };  // MPU_CTRL: on, whatever the priority
#define MIXED 0x80
#define MOST_PAGES 64

static bool enabled(const Regions *r, int i) {
  return (r->limits[i] & ENABLE) && mpu_last(r, i) >= mpu_first(r, i);
}

// Returns the rights to all of [from, to], unprivileged ones above privileged ones; MIXED if a
// region ends in between.
static uint8_t rights(const Regions *r, uint32_t from, uint32_t to) {
  int hit = -1;
  if (!(r->ctrl & MPU_ENABLE)) return ALL | ALL << LEVELS;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!enabled(r, i) || mpu_last(r, i) < from || mpu_first(r, i) > to) continue;
    if (mpu_first(r, i) > from || mpu_last(r, i) < to) return MIXED;
    if (hit >= 0) return 0;
    hit = i;
  }
  // Without a region the default memory map decides on fetches.
  if (hit < 0) return r->ctrl & MPU_PRIVDEFENA ? ALL : 0;
  uint8_t level = r->bases[hit] & READ_ONLY ? READ : READ | WRITE;
  if (!(r->bases[hit] & NEVER_EXECUTE)) level |= FETCH;
  return (uint8_t)(r->bases[hit] & UNPRIVILEGED ? level | level << LEVELS : level);
}

static bool code_ran(const Core *c, uint32_t page) {
  for (int i = 0; i < c->memory.code_count; i++) {
    const Area *area = &c->memory.code[i];
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

// Whether any page between two addresses loses a right.
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

// Whether code that has run loses the right to run: its translations would remain if data is stored
// there later.
static bool stops_code(const Core *c, const Regions *before, const Regions *after) {
  for (int i = 0; i < c->memory.code_count && c->memory.ram_runs; i++) {
    const Area *area = &c->memory.code[i];
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

// Sets regions to the default memory map (Armv8-M ARM, "The system address map"), without data RAM.
static void open(const Core *c, Regions *r) {
  const Area *ram = memory_ram(&c->memory);
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

// Returns the first address from `at` on outside all regions; `*end`: the last before the next one.
static uint32_t gap_from(const Regions *r, uint32_t at, uint32_t last, uint32_t *end) {
  *end = last;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!enabled(r, i) || mpu_last(r, i) < at || mpu_first(r, i) > last) continue;
    if (mpu_first(r, i) <= at) {
      if (mpu_last(r, i) >= last) return last + 1;
      return gap_from(r, mpu_last(r, i) + 1, last, end);
    }
    if (mpu_first(r, i) <= *end) *end = mpu_first(r, i) - 1;
  }
  return at;
}

// Whether privileged code may load and store in a region of data RAM, but not run, and no other
// region overlaps it.
static bool is_like_filler(const Regions *r, int i, const Area *ram) {
  if (r->bases[i] & READ_ONLY || !(r->bases[i] & NEVER_EXECUTE)) return false;
  if (mpu_first(r, i) < ram->base || mpu_last(r, i) - ram->base >= ram->size) return false;
  for (int other = 0; other < MPU_REGIONS; other++) {
    if (other != i && enabled(r, other) && mpu_first(r, other) <= mpu_last(r, i) &&
        mpu_last(r, other) >= mpu_first(r, i)) {
      return false;
    }
  }
  return true;
}

// Folds into the background the regions that privileged code does not need.
static void fold(const Core *c, Regions *r) {
  const Regions all = *r;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (enabled(&all, i) && is_like_filler(&all, i, memory_ram(&c->memory))) {
      r->limits[i] = r->bases[i] = 0;
    }
  }
}

// Covers data RAM that only the background allows with unused, execute-never regions. Does nothing
// if there are too few regions.
static void fill(const Core *c, Regions *r, bool folds) {
  const Area *ram = memory_ram(&c->memory);
  const uint32_t last = ram->base + ram->size - 1;
  const Regions asked = *r;
  uint32_t end;
  if (!(r->ctrl & MPU_ENABLE) || !(r->ctrl & MPU_PRIVDEFENA)) return;
  if (folds) fold(c, r);
  for (uint32_t at = gap_from(r, ram->base, last, &end); at <= last;
       at = gap_from(r, at, last, &end)) {
    int i = 0;
    while (i < MPU_REGIONS && enabled(r, i)) i++;
    if (i == MPU_REGIONS) {
      *r = asked;
      return;
    }
    r->bases[i] = at | NEVER_EXECUTE;
    r->limits[i] = (end & ~31u) | ENABLE;
    r->fillers |= 1u << i;
  }
}

// Is an address one of data RAM that only the background allows, made execute-never?
static bool is_filled(const Core *c, uint32_t address) {
  int hit = mpu_region_at(&c->mpu.in_force, address);
  return hit >= 0 && c->mpu.in_force.fillers >> hit & 1 &&
         mpu_region_at(&c->mpu.wanted, address) == MPU_NO_REGION;
}

static bool shrinks(const Core *c, const Regions *before, const Regions *after) {
  if (before->ctrl != after->ctrl || !before->fillers != !after->fillers) return true;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (before->bases[i] == after->bases[i] && before->limits[i] == after->limits[i]) continue;
    // Outside the firmware's regions, fillers give the same rights as other fillers.
    bool filled = before->fillers >> i & 1, fills = after->fillers >> i & 1;
    if (!filled && enabled(before, i) &&
        loses(c, before, after, mpu_first(before, i), mpu_last(before, i))) {
      return true;
    }
    if (!fills && enabled(after, i) &&
        loses(c, before, after, mpu_first(after, i), mpu_last(after, i))) {
      return true;
    }
  }
  return false;
}

// Returns true if Unicorn may remember a right that is taken away. Privileged code has the same
// rights with folded and with unfolded regions, unprivileged code only those of unfolded ones: each
// way is compared with itself, so that a kernel may run between two threads at no cost.
static bool is_lost(const Core *c, const Regions *folded, const Regions *made) {
  if (!c->mpu.in_force.fillers != !made->fillers || shrinks(c, &c->mpu.folded, folded)) return true;
  return c->mpu.unfolded && c->mpu.was_opened && shrinks(c, &c->mpu.opened, made);
}

static void enforce(Core *c, const Regions *folded, const Regions *made) {
  state_set_mpu(c, made);
  if (stops_code(c, &c->mpu.in_force, made)) c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TB);
  if (is_lost(c, folded, made)) {
    c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TLB);
    c->mpu.was_opened = false;
  }
  c->mpu.in_force = *made;
  c->mpu.folded = *folded;
  if (!c->mpu.unfolded) return;
  c->mpu.opened = *made;
  c->mpu.was_opened = true;
}

// Returns the regions with which the firmware's MPU, `asked`, is put in force.
static Regions derived(const Core *c, const Regions *asked, bool folds) {
  Regions made = *asked;
  for (int i = 0; i < MPU_REGIONS; i++) {
    if (!enabled(asked, i)) made.bases[i] = made.limits[i] = 0;
  }
  if (c->memory.ram_runs) return made;
  if (asked->ctrl) {
    fill(c, &made, folds);
  } else {
    open(c, &made);
  }
  return made;
}

// Puts the firmware's MPU in force; with a `ctrl` of zero it checks nothing.
static void put_in_force(Core *c, uint32_t ctrl, const Regions *regions) {
  Regions asked = *regions;
  asked.ctrl = ctrl;
  c->mpu.wanted = asked;
  c->mpu.off = ctrl == 0;
  const Regions folded = derived(c, &asked, true);
  const Regions made = c->mpu.unfolded ? derived(c, &asked, false) : folded;
  if (memcmp(&made, &c->mpu.in_force, sizeof made)) enforce(c, &folded, &made);
  c->mpu.stale = false;
  core_limit(c);
}

// Derives the regions again from the firmware's MPU, whose own changes wait for the next block.
static void derive_again(Core *c) {
  const Regions wanted = c->mpu.wanted;
  const bool stale = c->mpu.stale;
  put_in_force(c, wanted.ctrl, &wanted);
  c->mpu.stale = stale;
  core_limit(c);
}

// Allows a refused fetch from now on, if only open() or fill() refused it; returns whether it did.
bool protection_admit_code(Core *c) {
  const Area *area = memory_code(&c->memory, c->access.address);
  if (c->memory.ram_runs || !area || area->stable) return false;
  if (!c->mpu.off && !is_filled(c, c->access.address)) return false;
  c->memory.ram_runs = true;
  derive_again(c);
  return true;
}

// A load or store was refused: true if unprivileged code may need a folded region.
bool protection_unfold(Core *c) {
  const int region = mpu_region_at(&c->mpu.wanted, c->access.address);
  if (c->mpu.unfolded || region < 0 || !(c->mpu.wanted.bases[region] & UNPRIVILEGED)) return false;
  c->mpu.unfolded = true;
  derive_again(c);
  return true;
}

void protection_lift(Core *c) {
  const Regions wanted = c->mpu.wanted;
  put_in_force(c, 0, &wanted);
}

// Tries to run from `address`; returns whether the fetch is refused at this address.
static bool refuses(Core *c, uint32_t address) {
  c->stop.reason = REASON_NONE;
  c->unicorn.api.start(c->unicorn.handle, address | 1, NEVER, 0, 0);
  return c->stop.reason == REASON_EXCEPTION && c->stop.exception == RAISED_FETCH &&
         c->access.address == address;
}

// Whether Unicorn refuses a fetch without a region, and from an execute-never one. Runs no code.
bool protection_works(Core *c) {
  Regions tried = {0};
  uint32_t pc = core_reg(c, REG_PC);
  put_in_force(c, MPU_ENABLE, &tried);
  bool works = refuses(c, 0x104);
  tried.bases[5] = 0x400 | 3 << 1 | 1;
  tried.limits[5] = 0x7E0 | 1;
  put_in_force(c, MPU_ENABLE | MPU_PRIVDEFENA, &tried);
  works = works && refuses(c, 0x504);
  tried.bases[5] = tried.limits[5] = 0;
  put_in_force(c, 0, &tried);
  core_set_reg(c, REG_PC, pc | 1);
  c->access.address = 0;
  c->stop.reason = REASON_NONE;
  return works;
}

// Whether the priority is below zero, so that the MPU checks nothing unless HFNMIENA is set
// (Armv8-M ARM, IsReqExecPriNeg).
static bool is_negative(Core *c) {
  int hard_fault = HARD_FAULT | (c->cpu.nonsecure ? NONSECURE : 0);
  if (nvic_has(c->cpu.nvic, ACTIVE, hard_fault)) return true;
  bool nmi_is_other = nvic_has(c->cpu.nvic, TARGETS_NONSECURE, NMI) != c->cpu.nonsecure;
  if (!nmi_is_other && nvic_has(c->cpu.nvic, ACTIVE, NMI)) return true;
  return core_reg(c, REG_FAULTMASK) & 1;
}

// Whether the MPU in force makes memory Device memory, where each access must be aligned.
static bool makes_device(const Core *c) {
  const Mpu *mpu = c->mpu.banks[c->cpu.nonsecure];
  const Regions *regions = &mpu->state.regions;
  for (int i = 0; i < MPU_REGIONS && c->mpu.wanted.ctrl; i++) {
    if (!mpu_makes_device(mpu, i)) continue;
    for (int n = 0; n < c->memory.code_count; n++) {
      const Area *area = &c->memory.code[n];
      if (mpu_first(regions, i) < area->base + area->size && mpu_last(regions, i) >= area->base) {
        return true;
      }
    }
  }
  return false;
}

// Puts the MPU of the current security state in force, by its registers and the priority.
void protection_synchronize(Core *c) {
  const Regions *wanted = &c->mpu.banks[c->cpu.nonsecure]->state.regions;
  const size_t size = sizeof wanted->bases;
  uint32_t ctrl = wanted->ctrl;
  c->mpu.negative = is_negative(c);
  if (!(ctrl & MPU_ENABLE) || (c->mpu.negative && !(ctrl & MPU_HFNMIENA))) ctrl = 0;
  c->mpu.stale = false;
  bool same = ctrl == c->mpu.wanted.ctrl && !memcmp(wanted->bases, c->mpu.wanted.bases, size) &&
              !memcmp(wanted->limits, c->mpu.wanted.limits, size);
  if (same || (!ctrl && c->mpu.off)) {
    core_limit(c);
  } else {
    put_in_force(c, ctrl, wanted);
  }
  c->mpu.device = makes_device(c);
}

bool protection_settle(Core *c) {
  const Regions asked = c->mpu.banks[c->cpu.nonsecure]->state.regions;
  if (!asked.ctrl || asked.ctrl != c->mpu.wanted.ctrl) return false;
  const Regions made = derived(c, &asked, true);
  if (memcmp(&made, &c->mpu.in_force, sizeof made)) return false;
  if (makes_device(c) != c->mpu.device) return false;
  c->mpu.wanted = asked;
  c->mpu.stale = false;
  core_limit(c);
  return true;
}

void protection_follow(Core *c) {
  uint32_t ctrl = c->mpu.banks[c->cpu.nonsecure]->state.regions.ctrl;
  bool by_priority = ctrl & MPU_ENABLE && !(ctrl & MPU_HFNMIENA);
  if (c->mpu.stale || (by_priority && is_negative(c) != c->mpu.negative)) {
    protection_synchronize(c);
  }
}

// Handles a change of an MPU's register.
static void on_change(Mpu *m, bool at_once) {
  Core *c = m->owner;
  if (c->cpu.nonsecure != m->nonsecure) return;
  c->mpu.stale = true;
  c->mpu.unfolded = false;
  if (at_once) c->stop.after = true;
  core_limit(c);
}

void protection_connect(Core *c, Mpu *mpu) {
  mpu->changed = c ? on_change : NULL;
  mpu->owner = c;
}
