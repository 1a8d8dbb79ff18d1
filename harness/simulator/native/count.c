// Counts instructions. For stopping at an exact one see run.c.
//
// Unicorn calls on_block() before each translated block. A block that would run past `stop_at`, or
// holds an instruction that the machine carries out itself (WFI, TT, a breakpoint), is not entered;
// its first part is run alone by asking Unicorn to stop "until" the address in its middle, which
// cuts the translated block there.

#include <string.h>

#include "core.h"

// Instructions between two looks at the clock at most: a few milliseconds.
#define LAST_LOOK 262144

// Rare functions are not inlined: their callers would save more registers on each call.
#ifdef __GNUC__
#define SELDOM __attribute__((noinline, cold))
#define EXPECTED(condition) __builtin_expect(condition, 1)
#else
#define SELDOM
#define EXPECTED(condition) (condition)
#endif

uint32_t core_reg(Core *c, int id) {
  uint32_t value = 0;
  c->api.reg_read(c->uc, id, &value);
  return value;
}

void core_set_reg(Core *c, int id, uint32_t value) {
  if (id == REG_PC) c->sequential = 0;
  c->api.reg_write(c->uc, id, &value);
}

Area *core_area(Area *areas, int count, uint32_t address) {
  for (int i = 0; i < count; i++) {
    if (address - areas[i].base < areas[i].size) return &areas[i];
  }
  return NULL;
}

static const Area *holding(const Area *areas, int count, uint32_t address, uint32_t size) {
  for (int i = 0; i < count; i++) {
    uint32_t offset = address - areas[i].base;
    if (offset < areas[i].size && areas[i].size - offset >= size) return &areas[i];
  }
  return NULL;
}

// The memory (not a device window) that holds all of [address, address + size).
const Area *core_memory(const Core *c, uint32_t address, uint32_t size) {
  const Area *area = holding(c->code, c->code_count, address, size);
  return area ? area : holding(c->information, c->information_count, address, size);
}

uint16_t core_halfword(const Area *area, uint32_t address) {
  uint32_t offset = address - area->base;
  if (offset >= area->size || area->size - offset < 2) return 0;
  return (uint16_t)(area->host[offset] | area->host[offset + 1] << 8);
}

// Must be called after each change of a value that it reads.
void core_limit(Core *c) {
  bool always = c->nvic->best || c->stale || c->idle.watching || c->branch_ticks || c->partial;
  c->limit = always ? -1 : c->stop_at < c->look_at ? c->stop_at : c->look_at;
}

// Slots are charged when their block is left: most blocks run many times in a row.
void core_settle_charge(Core *c) {
  if (c->slot) c->slot->executed += (uint64_t)(c->executed - c->charged);
  c->charged = c->executed;
}

static bool is_breakpoint(const Core *c, uint32_t address) {
  for (size_t i = 0; i < c->breakpoint_count; i++) {
    if (c->breakpoints[i] == address) return true;
  }
  return false;
}

static void decode(Core *c, const Area *area, Slot *s, uint32_t address, uint32_t size) {
  uint32_t count = 0, special = core_may_run(c, area, address) ? NO_SPECIAL : 0;
  int context = core_context(c);
  for (uint32_t at = address; at < address + size && size <= MAX_BLOCK; count++) {
    uint16_t first = core_halfword(area, at);
    uint32_t step = thumb_length(first);
    uint16_t second = step == 4 ? core_halfword(area, at + 2) : 0;
    if (step == 4) c->extras |= thumb_extra_state(first, second);
    if (special == NO_SPECIAL &&
        (thumb_is_special(first, second, context) || is_breakpoint(c, at))) {
      special = count;
    }
    at += step;
  }
  s->count = (uint16_t)count;
  s->special = (uint16_t)special;
  s->key = area->stable && special == NO_SPECIAL ? size << 16 | c->generation : 0;
  for (uint32_t at = address - area->base; at < address - area->base + size; at += 2) {
    area->covered[at >> 4] |= (uint8_t)(1u << ((at >> 1) & 7));
  }
}

// Instructions of the current block that stand before `pc`. A loop asks for the same ones.
uint32_t core_count_before(Core *c, uint32_t pc) {
  const Counted same = {c->block, c->block_size, pc, c->generation, c->counted.count};
  Area *area = core_area(c->code, c->code_count, c->block);
  uint32_t count = 0;
  if (!area) return 0;
  if (area->stable && !memcmp(&same, &c->counted, sizeof same)) return same.count;
  for (uint32_t at = c->block; at < pc && at < c->block + c->block_size; count++) {
    at += thumb_length(core_halfword(area, at));
  }
  c->counted = (Counted){c->block, c->block_size, pc, c->generation, count};
  return count;
}

bool core_deliverable(Core *c) {
  const Nvic *n = c->nvic;
  if (!n->best || n->best_pending >= n->active_priority) return false;
  return n->best_pending < core_priority(c);
}

static void look_later(Core *c) {
  c->step = c->step < LAST_LOOK ? 2 * c->step : LAST_LOOK;
  c->look_at = c->executed + c->step;
}

// The current block is entered: by a branch, unless it follows the last one directly. `stop_at` is
// in instructions, and comes nearer with each tick that is not one.
static void note_branch(Core *c) {
  bool jumped = c->sequential && c->sequential != c->block;
  c->branches += jumped;
  c->stop_at -= jumped;
  c->sequential = c->block + c->block_size;
}

// The current block must not be entered; `executed` goes back to what it was before it.
static void refuse_block(Core *c, int reason) {
  c->reason = reason;
  c->executed -= c->block_count;
  c->block_count = 0;
  c->again = 1;
  if (c->branch_ticks) c->sequential = c->block;  // the branch to it has taken its tick
  c->api.stop(c->uc);
}

static uint32_t first_special(Core *c) {
  uint32_t special = c->slot ? c->slot->special : NO_SPECIAL;
  if (c->ignoring && special == 0 && c->block == c->ignored) {
    Area *area = core_area(c->code, c->code_count, c->block);
    uint16_t first = core_halfword(area, c->block), second = core_halfword(area, c->block + 2);
    special = thumb_is_special(first, second, c->fp_disabled) ? 0 : 1;
  }
  c->ignoring = false;
  return special;
}

static SELDOM void on_block_slow(Core *c) {
  if (c->branch_ticks) note_branch(c);
  if (c->partial) {
    // Unicorn's cache may hold a block that starts there and does not end at `until`.
    if (c->block == c->until) refuse_block(c, REASON_NONE);
    return;
  }
  uint32_t special = first_special(c);
  if (core_deliverable(c)) {
    refuse_block(c, REASON_UNMASKED);
  } else if (c->stale) {
    refuse_block(c, REASON_SYNC);
  } else if (special < c->block_count || c->executed > c->stop_at) {
    long long room = c->stop_at - (c->executed - c->block_count);
    uint32_t cut = special < c->block_count ? special : c->block_count;
    if (room < (long long)cut) cut = room > 0 ? (uint32_t)room : 0;
    c->cut = cut;
    refuse_block(c, cut ? REASON_CUT : room <= 0 ? REASON_BUDGET : REASON_SPECIAL);
  } else if (c->idle.watching) {
    idle_block(c);
    core_limit(c);
  } else if (c->executed > c->look_at) {
    if (core_is_late(c)) {
      refuse_block(c, REASON_BUDGET);
      return;
    }
    look_later(c);
    if (c->skip_idle) idle_begin(c);
    core_limit(c);
  }
}

// False if there is no memory that can hold code: the fetch fails next, nothing is executed.
static bool enter_block(Core *c, uint32_t address, uint32_t size) {
  Area *area = c->code;
  core_settle_charge(c);
  if (address != c->block) c->trace[c->trace_next++ % TRACE_BLOCKS] = address;
  c->block = address;
  c->block_size = size;
  if (address - area->base >= area->size) area = core_area(c->code, c->code_count, address);
  if (!area) {
    c->slot = NULL;
    c->block_count = 0;
    c->again = 1;
    return false;
  }
  Slot *s = c->slot = &area->slots[(address - area->base) >> 1];
  if (s->key != (size << 16 | c->generation)) decode(c, area, s, address, size);
  c->block_count = s->count;
  c->again = s->key ? address : 1;
  return true;
}

static SELDOM void on_new_block(Core *c, uint32_t address, uint32_t size) {
  if (!enter_block(c, address, size)) return;
  c->executed += c->block_count;
  if (c->executed > c->limit || c->slot->special != NO_SPECIAL) on_block_slow(c);
}

// Enter another block of flash, which is decoded already.
static void on_known_block(Core *c, uint32_t address, uint32_t size, Slot *s) {
  c->slot->executed += (uint64_t)(c->executed - c->charged);
  c->charged = c->executed;
  c->trace[c->trace_next++ % TRACE_BLOCKS] = address;
  c->slot = s;
  c->block = address;
  c->block_size = size;
  c->block_count = s->count;
  c->again = address;
}

static void on_block(void *uc, uint64_t address64, uint32_t size, void *user) {
  Core *c = user;
  uint32_t address = (uint32_t)address64;
  (void)uc;
  // A loop of one block, in which most programs spend their time, is looked up once.
  if (EXPECTED(address == c->again)) {
    c->executed += c->block_count;
    if (EXPECTED(c->executed <= c->limit)) return;
    on_block_slow(c);
    return;
  }
  uint32_t offset = address - c->code->base;
  Slot *s = &c->code->slots[offset >> 1];
  if (offset >= c->code->size || s->key != (size << 16 | c->generation) || !c->slot) {
    on_new_block(c, address, size);
    return;
  }
  on_known_block(c, address, size, s);
  c->executed += c->block_count;
  if (c->executed > c->limit) on_block_slow(c);
}

static void on_exception(void *uc, uint32_t number, void *user) {
  Core *c = user;
  if (c->reason == REASON_NONE) {
    c->reason = REASON_EXCEPTION;
    c->exception = (int)number;
    if (number == RAISED_FETCH || number == RAISED_DATA) state_note_fault(c);
  }
  c->api.stop(uc);
}

// Count one instruction that the machine carried out itself.
void core_retire(Core *c, uint32_t pc) {
  Area *area = core_area(c->code, c->code_count, pc);
  core_settle_charge(c);
  c->executed++;
  c->charged++;
  if (!area) return;
  uint32_t slot = (pc - area->base) >> 1;
  area->slots[slot].executed++;
  area->covered[slot >> 3] |= (uint8_t)(1u << (slot & 7));
}

// Code changed: decode it again.
void core_invalidate(Core *c) {
  c->again = 1;
  c->generation += 2;  // bit 0 is the security state: each has its own decoded blocks
  if (c->generation > 1) return;
  c->generation += 2;
  for (int i = 0; i < c->code_count; i++) {
    for (uint32_t at = 0; at < c->code[i].size / 2; at++) c->code[i].slots[at].key = 0;
  }
}

static bool watch(Core *c, uint64_t from, uint64_t to) {
  size_t hook;
  return !c->api.hook_add(c->uc, &hook, HOOK_MEM_INVALID, (void *)access_hook, c, from, to);
}

// Stores to pages that are watched are slow, whether they are refused or not.
bool core_watch_ram(Core *c) {
  const Area *ram = core_ram(c);
  if (c->watches_ram) return true;
  c->watches_ram = watch(c, ram->base, ram->base + ram->size - 1);
  return c->watches_ram;
}

bool core_attach(Core *c) {
  const Area *ram = core_ram(c);
  size_t hook;
  c->other_priority = NO_PRIORITY;
  c->fp_disabled = true;
  c->generation = 2;
  c->again = 1;
  c->access_here = -1;
  c->skip_idle = true;
  return !c->api.hook_add(c->uc, &hook, HOOK_BLOCK, (void *)on_block, c, 1, 0) &&
         !c->api.hook_add(c->uc, &hook, HOOK_INTR, (void *)on_exception, c, 1, 0) &&
         watch(c, 0, ram->base - 1) && watch(c, (uint64_t)ram->base + ram->size, UINT64_MAX);
}
