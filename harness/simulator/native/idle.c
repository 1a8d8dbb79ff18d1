// Loops without effect, which are skipped to the next event with exact counts.
//
// Such a loop has up to IDLE_BLOCKS blocks, no store, no access that the page rights refuse and no
// instruction that the machine carries out; an iteration does not change the processor's state. It
// runs forever unless an event ends it. No event is due before `stop_at`, so all whole iterations
// up to there are counted without being run.
#include "idle.h"

#include <string.h>

#include "events.h"
#include "thumb.h"
#include "uarte.h"

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
    idle->hint = 0;
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
  idle->loads = c->access.loads;
  idle->count = 0;
  note(c);
  if (idle->watching) c->unicorn.api.context_save(c->unicorn.handle, idle->context);
}

// Returns the value of `executed` at the next event except bytes that are just read and sent.
static long long room(const Core *c) {
  long long next = events_next(c), left = c->time.end_at - c->time.executed;
  long long ahead = next - core_now(c);
  return c->time.executed + (next == INT64_MAX || left < ahead ? left : ahead);
}

// Whether a core at rest here would rest for good, as far as the machine knew when this run began:
// it asks again. Bytes that are being sent are waited for.
static bool may_stand(const Core *c) { return c->idle.may_stand && uarte_next(c) == INT64_MAX; }

static void skip(Core *c, long long period) {
  Idle *idle = &c->idle;
  long long branches = c->time.branches - idle->branches;
  long long times = (room(c) - c->time.executed) / (period + branches);
  if (times <= 0) return;
  core_settle_charge(c);
  for (int i = 0; i < idle->count; i++) {
    idle->blocks[i].slot->executed += (uint64_t)(times * idle->blocks[i].instructions);
  }
  c->time.executed += times * period;
  c->time.branches += times * branches;
  c->time.stop_at -= times * branches;
  c->time.end_at -= times * branches;
  c->time.charged = c->time.executed;
  idle->skipped_to = c->time.executed;
  idle->polled = idle->loads != c->access.loads ? c->access.loaded : 0;
}

// Whether the processor's state is that at the first instruction of the loop.
static bool is_unchanged(Core *c) {
  c->unicorn.api.context_save(c->unicorn.handle, c->unicorn.context);
  const size_t from = c->unicorn.layout.registers, size = c->unicorn.layout.end - from;
  const uint8_t *before = c->idle.context, *now = c->unicorn.context;
  return memcmp(before + from, now + from, size) == 0;
}

void idle_block(Core *c) {
  Idle *idle = &c->idle;
  if (c->block.address != idle->anchor) {
    note(c);
    return;
  }
  idle->watching = false;
  if (idle->accesses != c->access.total || !is_unchanged(c)) return;
  skip(c, c->time.executed - c->block.count - idle->since);
}

// With ticks for branches each iteration ends with one more, which may be after `stop_at`.
void idle_branch(Core *c, uint32_t pc) {
  long long branches = c->time.branch_ticks;
  long long times = (room(c) - c->time.executed + branches) / (1 + branches);
  c->idle.stands = may_stand(c);
  if (c->idle.stands) c->stop.after = true;
  if (c->idle.stands || times <= 0) return;
  core_retire(c, pc);
  Area *area = memory_code(&c->memory, pc);
  if (area) area->slots[(pc - area->base) >> 1].executed += (uint64_t)(times - 1);
  c->time.executed += times - 1;
  c->time.charged = c->time.executed;
  c->time.branches += times * branches;
  c->time.stop_at -= times * branches;
  c->time.end_at -= times * branches;
  if (branches) c->block.sequential = pc;
}

// loops around a hint that does nothing

// Watches the loop with the hint at `pc`, from here until the hint is next again.
static void begin_at_hint(Core *c, uint32_t pc) {
  Idle *idle = &c->idle;
  idle->watching = true;
  idle->hint = idle->anchor = pc;
  idle->since = c->time.executed;
  idle->branches = c->time.branches;
  idle->accesses = c->access.total;
  idle->loads = c->access.loads;
  idle->count = 0;
  c->unicorn.api.context_save(c->unicorn.handle, idle->context);
}

void idle_forget_hint(Core *c) {
  if (c->idle.hint) c->idle.watching = false;
  c->idle.hint = 0;
}

void idle_part(Core *c) {
  if (c->idle.hint) note(c);
}

void idle_instruction(Core *c, uint32_t pc) {
  Idle *idle = &c->idle;
  Area *area = memory_code(&c->memory, pc);
  if (!idle->hint) return;
  if (!area || idle->count == IDLE_BLOCKS) {
    idle_forget_hint(c);
    return;
  }
  idle->blocks[idle->count].slot = &area->slots[(pc - area->base) >> 1];
  idle->blocks[idle->count++].instructions = 1;
}

void idle_hint(Core *c, uint32_t pc, bool waits) {
  Idle *idle = &c->idle;
  if (!idle->skips || !memory_code(&c->memory, pc)) return;
  if (idle->hint == pc) {
    const bool same = idle->accesses == c->access.total && is_unchanged(c);
    idle->stands = same && waits && idle->may_stand;
    if (idle->stands) c->stop.after = true;
    if (same && !idle->stands) skip(c, c->time.executed - idle->since);
    idle_forget_hint(c);
    if (same) return;
  }
  if (!idle->hint) begin_at_hint(c, pc);
  idle_instruction(c, pc);
}
