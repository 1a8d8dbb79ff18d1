// Loops that can change nothing: skipped to the next event, exactly.
//
// Such a loop has up to IDLE_BLOCKS blocks, no store, no access that Unicorn asks about and no
// instruction that the machine carries out; an iteration leaves the processor's state as it was. It
// goes on for ever unless something outside happens. Nothing does before `stop_at`, so all whole
// iterations up to there are counted without being run.
#include <string.h>

#include "core.h"

static bool can_store(Core *c) {
  Area *area = core_area(c->code, c->code_count, c->block);
  for (uint32_t at = c->block; area && at < c->block + c->block_size;) {
    uint16_t first = core_halfword(area, at);
    if (thumb_may_store(first)) return true;
    at += thumb_length(first);
  }
  return !area;
}

static void note(Core *c) {
  Idle *idle = &c->idle;
  if (idle->count == IDLE_BLOCKS || idle->accesses != c->accesses || can_store(c)) {
    idle->watching = false;
    return;
  }
  idle->blocks[idle->count].slot = c->slot;
  idle->blocks[idle->count++].instructions = c->block_count;
}

// The current block, about to run, may be the first of such a loop.
void idle_begin(Core *c) {
  Idle *idle = &c->idle;
  idle->watching = true;
  idle->anchor = c->block;
  idle->since = c->executed - c->block_count;
  idle->branches = c->branches;
  idle->accesses = c->accesses;
  idle->count = 0;
  note(c);
  if (idle->watching) c->api.context_save(c->uc, c->idle_context);
}

static void skip(Core *c, long long period) {
  Idle *idle = &c->idle;
  long long branches = c->branches - idle->branches;
  long long times = (c->stop_at - c->executed) / (period + branches);
  if (times <= 0) return;
  core_settle_charge(c);
  for (int i = 0; i < idle->count; i++) {
    idle->blocks[i].slot->executed += (uint64_t)(times * idle->blocks[i].instructions);
  }
  c->executed += times * period;
  c->branches += times * branches;
  c->stop_at -= times * branches;
  c->charged = c->executed;
}

// A block is about to run while a loop is watched.
void idle_block(Core *c) {
  Idle *idle = &c->idle;
  if (c->block != idle->anchor) {
    note(c);
    return;
  }
  idle->watching = false;
  if (idle->accesses != c->accesses) return;
  c->api.context_save(c->uc, c->context);
  const uint8_t *before = c->idle_context, *now = c->context;
  if (memcmp(before + c->layout.registers, now + c->layout.registers,
             c->layout.end - c->layout.registers) == 0) {
    skip(c, c->executed - c->block_count - idle->since);
  }
}
