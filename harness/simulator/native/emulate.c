// One run of Unicorn, to an exact instruction.
#include "emulate.h"

#include "access.h"
#include "count.h"
#include "thumb.h"

static uint32_t address_of(Core *c, uint32_t index) {
  Area *area = memory_code(&c->memory, c->block.address);
  uint32_t at = c->block.address;
  for (uint32_t i = 0; area && i < index; i++) at += thumb_length(memory_halfword(area, at));
  return at;
}

// Subtracts the instructions of the current block from `pc` on, which have not run.
static void settle(Core *c, uint32_t pc) {
  if (pc - c->block.address >= c->block.size) return;
  uint32_t before = core_count_before(c, pc);
  c->time.executed -= (long long)(c->block.count - before);
  c->block.count = before;
  c->block.size = pc - c->block.address;
  c->block.sequential = pc;
}

// Calls uc_emu_start() once from the current pc.
static void emulate(Core *c, uint64_t until) {
  uint32_t pc = core_reg(c, REG_PC), thumb = (core_reg(c, REG_XPSR) & XPSR_THUMB) != 0;
  Operands *o = &c->operands;
  core_settle_charge(c);
  if (o->from < o->until) {
    c->unicorn.api.ctl(c->unicorn.handle, CTL_REMOVE_CACHE, (uint64_t)o->from, (uint64_t)o->until);
    o->from = o->until = 0;
  }
  c->stop.reason = REASON_NONE;
  c->part.until = (uint32_t)until;
  c->access.aborting = false;
  c->block.size = 0;
  c->block.count = 0;
  c->block.slot = NULL;
  c->block.again = 1;
  c->idle.watching = c->idle.hint != 0;
  core_limit(c);
  int error = c->unicorn.api.start(c->unicorn.handle, pc | thumb, until, 0, 0);
  bool fetch = c->access.type == MEM_FETCH_PROT || c->access.type == MEM_FETCH_UNMAPPED;
  bool whole = c->stop.exception == RAISED_SVC || c->stop.exception == RAISED_RETURN;
  if (c->access.aborting) {
    access_undo(c);
    settle(c, core_reg(c, REG_PC));
  } else if (c->stop.reason == REASON_OPERANDS || (c->stop.reason == REASON_MEMORY && !fetch) ||
             (c->stop.reason == REASON_EXCEPTION && !whole)) {
    settle(c, core_reg(c, REG_PC));
  } else if (c->stop.reason == REASON_NONE && error) {
    c->stop.reason = REASON_ERROR;
    c->stop.error = error;
    settle(c, core_reg(c, REG_PC));
  }
}

static void emulate_cut(Core *c, uint32_t from, uint32_t until) {
  // The whole block may be in Unicorn's cache: it must be translated again, up to `until`.
  c->unicorn.api.ctl(c->unicorn.handle, CTL_REMOVE_CACHE, (uint64_t)from, (uint64_t)until);
  c->part.running = true;
  emulate(c, until);
  c->part.running = false;
}

// Skips the store at pc, which took effect, if the instruction does nothing else.
static bool step_over(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = memory_code(&c->memory, pc);
  if (!area || core_reg(c, REG_XPSR) & XPSR_IT) return false;
  uint16_t first = memory_halfword(area, pc), second = memory_halfword(area, pc + 2);
  if (thumb_plain_store(first, second) != c->access.size) return false;
  core_retire(c, pc);
  core_set_reg(c, REG_PC, (pc + thumb_length(first)) | 1);
  c->block.sequential = pc + thumb_length(first);
  c->stop.reason = REASON_NONE;
  return true;
}

static void replay(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = memory_code(&c->memory, pc);
  if (!area) return;
  c->access.skip = c->access.count;
  c->access.count = 0;
  c->access.here = -1;
  c->part.single = true;
  emulate_cut(c, pc, pc + thumb_length(memory_halfword(area, pc)));
  c->part.single = false;
  c->access.skip = 0;
}

void emulate_on(Core *c) {
  emulate(c, NEVER);
  if (!c->machine.failed && c->stop.reason == REASON_CUT)
    emulate_cut(c, c->block.address, address_of(c, c->part.index));
  if (!c->machine.failed && c->stop.reason == REASON_REPLAY && !step_over(c)) replay(c);
}

void emulate_step(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = memory_code(&c->memory, pc);
  emulate_cut(c, pc, pc + (area ? thumb_length(memory_halfword(area, pc)) : 2));
}

void emulate_step_with(Core *c, int id, uint32_t value) {
  const uint32_t before = core_reg(c, id);
  core_set_reg(c, id, value);
  emulate_step(c);
  core_set_reg(c, id, before);
}

bool emulate_attach(Core *c) {
  const Area *ram = memory_ram(&c->memory);
  const UnicornApi *api = &c->unicorn.api;
  void *uc = c->unicorn.handle;
  size_t hook;
  c->cpu.other_priority = NO_PRIORITY;
  c->cpu.fp_disabled = true;
  c->block.generation = 2;
  c->block.again = 1;
  c->block.looks = LOOK_OPERANDS;
  c->access.here = -1;
  c->idle.skips = true;
  c->unicorn.on_access = (void *)access_hook;
  return !api->hook_add(uc, &hook, HOOK_BLOCK, (void *)count_block, c, 1, 0) &&
         !api->hook_add(uc, &hook, HOOK_INTR, (void *)count_exception, c, 1, 0) &&
         core_watch(c, 0, ram->base - 1) &&
         core_watch(c, (uint64_t)ram->base + ram->size, UINT64_MAX);
}
