// Counting of instructions. emulate.c stops at an exact one.
//
// Unicorn calls count_block() before each translated block. A block that would run past `stop_at`,
// or contains an instruction that the machine carries out itself (WFI, TT, a breakpoint), is not
// entered; its first part runs alone: Unicorn is started with the address in its middle as "until",
// which cuts the translated block there.

#include "count.h"

#include "alignment.h"
#include "attribution.h"
#include "idle.h"
#include "priority.h"
#include "protection.h"
#include "security.h"
#include "state.h"
#include "thumb.h"

// Most instructions between two checks of the clock: a few milliseconds.
#define LAST_LOOK 262144
#define MAX_BLOCK 4096

// Rare functions are not inlined, since their callers would save more registers on each call.
#ifdef __GNUC__
#define SELDOM __attribute__((noinline, cold))
#define APART __attribute__((noinline))
#define EXPECTED(condition) __builtin_expect(condition, 1)
#else
#define SELDOM
#define APART
#define EXPECTED(condition) (condition)
#endif

static void decode(Core *c, Area *area, Slot *s, uint32_t address, uint32_t size) {
  uint32_t count = 0, special = attribution_may_run(c, area, address) ? NO_SPECIAL : 0;
  int context = security_context(c);
  bool floating = false, conditional = core_reg(c, REG_XPSR) & XPSR_IT;
  for (uint32_t at = address; at < address + size && size <= MAX_BLOCK; count++) {
    uint16_t first = memory_halfword(area, at);
    uint32_t step = thumb_length(first);
    uint16_t second = step == 4 ? memory_halfword(area, at + 2) : 0;
    if (step == 4) c->cpu.extras |= thumb_extra_state(first, second);
    conditional |= thumb_begins_conditional(first);
    floating |= step == 4 && thumb_is_floating(first, second);
    if (special == NO_SPECIAL &&
        (thumb_is_special(first, second, context) || core_is_breakpoint(c, at) ||
         thumb_is_barrier_before_sleep(first, second, memory_halfword(area, at + 4)))) {
      special = count;
    }
    at += step;
  }
  alignment_decode(c, area, s, address, size, area->stable && special == NO_SPECIAL);
  s->count = (uint16_t)count;
  s->special = special & NO_SPECIAL;
  s->conditional = conditional;
  s->looks = (uint16_t)((s->looks & LOOK_OPERANDS) | (floating ? LOOK_FLOATING : 0)) & 3;
  s->key = area->stable && special == NO_SPECIAL ? size << 16 | c->block.generation : 0;
  for (uint32_t at = address - area->base; at < address - area->base + size; at += 2) {
    area->covered[at >> 4] |= (uint8_t)(1u << ((at >> 1) & 7));
  }
}

static void look_later(Core *c) {
  c->time.step = c->time.step < LAST_LOOK ? 2 * c->time.step : LAST_LOOK;
  c->time.look_at = c->time.executed + c->time.step;
}

// Counts the branch to the current block, unless that follows the last one directly. `stop_at` is
// in instructions, and decreases by each tick that is not one.
static void note_branch(Core *c) {
  bool jumped = c->block.sequential && c->block.sequential != c->block.address;
  c->time.branches += jumped;
  c->time.stop_at -= jumped;
  c->time.end_at -= jumped;
  c->block.sequential = c->block.address + c->block.size;
}

// Does not enter the current block, and restores `executed`.
static void refuse_block(Core *c, int reason) {
  c->stop.reason = reason;
  c->time.executed -= c->block.count;
  c->block.count = 0;
  c->block.again = 1;
  if (c->time.branch_ticks)
    c->block.sequential = c->block.address;  // the tick of the branch to it is counted
  c->unicorn.api.stop(c->unicorn.handle);
}

static uint32_t first_floating(Core *c) {
  Area *area = memory_code(&c->memory, c->block.address);
  uint32_t index = 0;
  for (uint32_t at = c->block.address; at - c->block.address < c->block.size; index++) {
    uint16_t first = memory_halfword(area, at);
    if (thumb_is_floating(first, memory_halfword(area, at + 2))) break;
    at += thumb_length(first);
  }
  return index;
}

static uint32_t first_special(Core *c) {
  uint32_t special = c->block.slot ? c->block.slot->special : NO_SPECIAL;
  if (c->breakpoints.ignoring && special == 0 && c->block.address == c->breakpoints.ignored) {
    Area *area = memory_code(&c->memory, c->block.address);
    uint16_t first = memory_halfword(area, c->block.address),
             second = memory_halfword(area, c->block.address + 2);
    special = thumb_is_special(first, second, c->cpu.fp_disabled) ? 0 : 1;
  }
  c->breakpoints.ignoring = false;
  if (!c->cpu.fp_lazy || !c->block.slot || !(c->block.slot->looks & LOOK_FLOATING)) return special;
  uint32_t floating = first_floating(c);
  return floating < special ? floating : special;
}

static SELDOM void look_closer(Core *c) {
  if (c->time.branch_ticks) note_branch(c);
  if (c->part.running) {
    // Unicorn's cache may contain a block that starts there and does not end at `until`.
    if (c->block.address == c->part.until) {
      refuse_block(c, REASON_NONE);
    } else {
      idle_part(c);
    }
    return;
  }
  const uint32_t special = first_special(c);
  const bool checked = c->block.slot && c->block.slot->looks & LOOK_OPERANDS;
  const uint32_t suspect = checked ? alignment_suspect(c) : c->block.count;
  uint32_t cut = special < suspect ? special : suspect;
  if (priority_deliverable(c)) {
    refuse_block(c, REASON_UNMASKED);
  } else if (c->mpu.stale && !protection_settle(c)) {
    refuse_block(c, REASON_SYNC);
  } else if (cut < c->block.count || c->time.executed > c->time.stop_at) {
    long long room = c->time.stop_at - (c->time.executed - c->block.count);
    const int before = special ? REASON_OPERANDS : REASON_SPECIAL;
    if (room < (long long)cut) cut = room > 0 ? (uint32_t)room : 0;
    c->part.index = cut;
    refuse_block(c, cut ? REASON_CUT : room <= 0 ? REASON_BUDGET : before);
  } else if (c->idle.watching) {
    idle_block(c);
    core_limit(c);
  } else if (c->time.executed > c->time.look_at) {
    if (core_is_late(c)) {
      refuse_block(c, REASON_BUDGET);
      return;
    }
    look_later(c);
    if (c->idle.skips) idle_begin(c);
    core_limit(c);
  }
}

// Returns false outside memory for code: the fetch then fails, and nothing is executed.
static bool enter_block(Core *c, uint32_t address, uint32_t size) {
  Area *area = c->memory.code;
  core_settle_charge(c);
  if (address != c->block.address) c->trace.blocks[c->trace.next++ % TRACE_BLOCKS] = address;
  c->block.address = address;
  c->block.size = size;
  if (address - area->base >= area->size) area = memory_code(&c->memory, address);
  if (!area) {
    c->block.slot = NULL;
    c->block.count = 0;
    c->block.again = 1;
    return false;
  }
  Slot *s = c->block.slot = &area->slots[(address - area->base) >> 1];
  if (s->key != (size << 16 | c->block.generation)) decode(c, area, s, address, size);
  c->block.count = s->count;
  c->block.again = s->key ? address : 1;
  return true;
}

static SELDOM void on_new_block(Core *c, uint32_t address, uint32_t size) {
  if (!enter_block(c, address, size)) return;
  c->time.executed += c->block.count;
  const Slot *s = c->block.slot;
  if (c->operands.from < c->operands.until) {
    if (c->time.branch_ticks) note_branch(c);
    refuse_block(c, REASON_NONE);
  } else if (c->time.executed > c->time.limit || s->special != NO_SPECIAL ||
             s->looks & c->block.looks) {
    look_closer(c);
  }
}

// Enters another block of flash, which has been decoded.
static void on_known_block(Core *c, uint32_t address, uint32_t size, Slot *s) {
  c->block.slot->executed += (uint64_t)(c->time.executed - c->time.charged);
  c->time.charged = c->time.executed;
  c->trace.blocks[c->trace.next++ % TRACE_BLOCKS] = address;
  c->block.slot = s;
  c->block.address = address;
  c->block.size = size;
  c->block.count = s->count;
  c->block.again = address;
}

// Checks the current block, which has operands or floating-point instructions to check.
static APART void look_at_block(Core *c) {
  const Slot *s = c->block.slot;
  const bool floating = c->cpu.fp_lazy && s->looks & LOOK_FLOATING;
  if (floating || alignment_suspect(c) < s->count) look_closer(c);
}

// All calls in it are tail calls, so that it saves no register.
void count_block(void *uc, uint64_t address64, uint32_t size, void *user) {
  Core *c = user;
  const uint32_t address = (uint32_t)address64;
  (void)uc;
  // A loop of one block, in which most programs spend their time, is looked up only once.
  if (EXPECTED(address == c->block.again)) {
    c->time.executed += c->block.count;
    if (EXPECTED(c->time.executed <= c->time.limit)) return;
    look_closer(c);
    return;
  }
  const uint32_t offset = address - c->memory.code->base;
  Slot *s = &c->memory.code->slots[offset >> 1];
  if (offset >= c->memory.code->size || s->key != (size << 16 | c->block.generation) ||
      !c->block.slot) {
    on_new_block(c, address, size);
    return;
  }
  on_known_block(c, address, size, s);
  c->time.executed += c->block.count;
  if (c->time.executed > c->time.limit) {
    look_closer(c);
  } else if (s->looks & c->block.looks) {
    look_at_block(c);
  }
}

void count_exception(void *uc, uint32_t number, void *user) {
  Core *c = user;
  if (c->stop.reason == REASON_NONE) {
    c->stop.reason = REASON_EXCEPTION;
    c->stop.exception = (int)number;
    if (number == RAISED_FETCH || number == RAISED_DATA) state_note_fault(c);
  }
  c->unicorn.api.stop(uc);
}
