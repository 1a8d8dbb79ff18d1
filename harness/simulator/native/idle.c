// Loops that can change nothing: skipped to the next event, exactly.
//
// Such a loop has up to IDLE_BLOCKS blocks, no store, no access that the page rights refuse and no
// instruction that the machine carries out; an iteration leaves the processor's state as it was. It
// goes on for ever unless something outside happens. Nothing does before `stop_at`, so all whole
// iterations up to there are counted without being run.
#include "idle.h"

#include <string.h>

#include "thumb.h"

static bool can_store(Core *c) {
  Area *area = memory_code(&c->memory, c->block.address);
  for (uint32_t at = c->block.address; area && at < c->block.address + c->block.size;) {
    uint16_t first = memory_halfword(area, at);
    if (thumb_may_store(first)) return true;
    at += thumb_length(first);
  }
  return !area;
}

static void note(Core *c) {
  Idle *idle = &c->idle;
  if (idle->count == IDLE_BLOCKS || idle->accesses != c->access.total || can_store(c)) {
    idle->watching = false;
    return;
  }
  idle->blocks[idle->count].slot = c->block.slot;
  idle->blocks[idle->count++].instructions = c->block.count;
}

void idle_begin(Core *c) {
  Idle *idle = &c->idle;
  idle->watching = true;
  idle->anchor = c->block.address;
  idle->since = c->time.executed - c->block.count;
  idle->branches = c->time.branches;
  idle->accesses = c->access.total;
  idle->count = 0;
  note(c);
  if (idle->watching) c->unicorn.api.context_save(c->unicorn.handle, idle->context);
}

static void skip(Core *c, long long period) {
  Idle *idle = &c->idle;
  long long branches = c->time.branches - idle->branches;
  long long times = (c->time.stop_at - c->time.executed) / (period + branches);
  if (times <= 0) return;
  core_settle_charge(c);
  for (int i = 0; i < idle->count; i++) {
    idle->blocks[i].slot->executed += (uint64_t)(times * idle->blocks[i].instructions);
  }
  c->time.executed += times * period;
  c->time.branches += times * branches;
  c->time.stop_at -= times * branches;
  c->time.charged = c->time.executed;
}

void idle_block(Core *c) {
  Idle *idle = &c->idle;
  if (c->block.address != idle->anchor) {
    note(c);
    return;
  }
  idle->watching = false;
  if (idle->accesses != c->access.total) return;
  c->unicorn.api.context_save(c->unicorn.handle, c->unicorn.context);
  const uint8_t *before = idle->context, *now = c->unicorn.context;
  if (memcmp(before + c->unicorn.layout.registers, now + c->unicorn.layout.registers,
             c->unicorn.layout.end - c->unicorn.layout.registers) == 0) {
    skip(c, c->time.executed - c->block.count - idle->since);
  }
}

// With ticks for branches each turn ends in one more, which may lie behind `stop_at`.
void idle_branch(Core *c, uint32_t pc) {
  long long branches = c->time.branch_ticks;
  long long times = (c->time.stop_at - c->time.executed + branches) / (1 + branches);
  c->idle.stands = c->idle.may_stand;
  if (c->idle.stands) c->stop.after = true;
  if (c->idle.stands || times <= 0) return;
  core_retire(c, pc);
  Area *area = memory_code(&c->memory, pc);
  if (area) area->slots[(pc - area->base) >> 1].executed += (uint64_t)(times - 1);
  c->time.executed += times - 1;
  c->time.charged = c->time.executed;
  c->time.branches += times * branches;
  c->time.stop_at -= times * branches;
  if (branches) c->block.sequential = pc;
}

// loops of hints and barriers

enum { NOP_HINT = 0xBF00, YIELD_HINT = 0xBF10, WFI_HINT = 0xBF30, MOST_INSTRUCTIONS = 16 };

typedef struct {
  uint32_t start, branch;  // addresses of its first instruction and of the branch back, 0: no loop
} HintLoop;

static bool is_hint(uint16_t first) { return first == YIELD_HINT || first == WFI_HINT; }

// Hints; NOP, DSB, DMB and ISB.
static bool does_nothing(uint16_t first, uint16_t second) {
  const bool barrier = first == 0xF3BF && second >= 0x8F40 && second <= 0x8F6F;
  return first == NOP_HINT || is_hint(first) || barrier;
}

// The loop in which the hint at `pc` stands.
static HintLoop hint_loop(Core *c, const Area *area, uint32_t pc) {
  HintLoop none = {0, 0}, loop = {0, pc};
  uint16_t first = memory_halfword(area, pc);
  for (int i = 0; i < MOST_INSTRUCTIONS && (first & 0xFC00) != 0xE400; i++) {
    if (!does_nothing(first, memory_halfword(area, loop.branch + 2))) return none;
    loop.branch += thumb_length(first);
    first = memory_halfword(area, loop.branch);
  }
  if ((first & 0xFC00) != 0xE400) return none;  // B, backwards
  loop.start = loop.branch + 4 - 2 * (0x400u - (first & 0x3FFu));
  if (loop.start > pc || core_is_breakpoint(c, loop.branch)) return none;
  for (uint32_t at = loop.start; at < loop.branch; at += thumb_length(first)) {
    first = memory_halfword(area, at);
    if (!does_nothing(first, memory_halfword(area, at + 2)) || core_is_breakpoint(c, at))
      return none;
  }
  return loop;
}

// Count the loop's instructions `times` times, each for the block that it runs in; gives how many
// they are.
static int count_loop(Area *area, HintLoop loop, long long times) {
  Slot *block = NULL;
  int count = 0;
  for (uint32_t at = loop.start; at <= loop.branch; count++) {
    const uint16_t first = memory_halfword(area, at);
    if (!block || is_hint(first)) block = &area->slots[(at - area->base) >> 1];
    block->executed += (uint64_t)times;
    if (is_hint(first)) block = NULL;
    at += thumb_length(first);
  }
  return count;
}

void idle_hint(Core *c, uint32_t pc) {
  Area *area = memory_code(&c->memory, pc);
  if (!area || !c->idle.skips) return;
  const HintLoop loop = hint_loop(c, area, pc);
  if (!loop.branch) return;
  c->idle.stands = c->idle.may_stand;
  if (c->idle.stands) {
    c->stop.after = true;
    return;
  }
  const long long period = count_loop(area, loop, 0), branches = c->time.branch_ticks;
  const long long times = (c->time.stop_at - c->time.executed) / (period + branches);
  if (times <= 0) return;
  core_settle_charge(c);
  count_loop(area, loop, times);
  c->time.executed += times * period;
  c->time.branches += times * branches;
  c->time.stop_at -= times * branches;
  c->time.charged = c->time.executed;
}
