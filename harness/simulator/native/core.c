// Registers, limits and counts, for all files of the counting core.
#include "core.h"

#include <string.h>
#include <time.h>

#include "thumb.h"

// Instructions that take about as long as a call of Python.
#define PYTHON_INSTRUCTIONS 256

uint32_t core_reg(Core *c, int id) {
  uint32_t value = 0;
  c->unicorn.api.reg_read(c->unicorn.handle, id, &value);
  return value;
}

void core_set_reg(Core *c, int id, uint32_t value) {
  if (id == REG_PC) c->block.sequential = 0;
  c->unicorn.api.reg_write(c->unicorn.handle, id, &value);
}

void core_refresh_mode(Core *c) {
  core_set_reg(c, REG_APSR_NZCV, core_reg(c, REG_XPSR) & 0xF0000000u);
}

void core_limit(Core *c) {
  bool always = c->cpu.nvic->best || c->mpu.stale || c->idle.watching || c->time.branch_ticks ||
                c->part.running;
  long long first = c->time.stop_at < c->time.look_at ? c->time.stop_at : c->time.look_at;
  c->time.limit = always ? -1 : first;
}

void core_stop_by(Core *c, long long tick) {
  const long long at = c->time.executed + (tick - core_now(c));
  if (at >= c->time.stop_at) return;
  c->time.stop_at = at;
  core_limit(c);
}

void core_note_python(Core *c) {
  c->time.look_at -= PYTHON_INSTRUCTIONS;
  core_limit(c);
}

static uint64_t monotonic_ns(void) {
  struct timespec now;
#ifdef CLOCK_MONOTONIC
  clock_gettime(CLOCK_MONOTONIC, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool core_is_late(const Core *c) { return c->time.wall && monotonic_ns() >= c->time.wall; }

void core_set_wall(Core *c, double seconds) {
  c->time.wall = seconds > 0 ? monotonic_ns() + (uint64_t)(seconds * 1e9) : 0;
}

// Slots are charged when their block is left, since most blocks run many times in a row.
void core_settle_charge(Core *c) {
  if (c->block.slot) c->block.slot->executed += (uint64_t)(c->time.executed - c->time.charged);
  c->time.charged = c->time.executed;
}

// The last result is kept for loops.
uint32_t core_count_before(Core *c, uint32_t pc) {
  const Counted same = {c->block.address, c->block.size, pc, c->block.generation, c->counted.count};
  Area *area = memory_code(&c->memory, c->block.address);
  uint32_t count = 0;
  if (!area) return 0;
  if (area->stable && !memcmp(&same, &c->counted, sizeof same)) return same.count;
  for (uint32_t at = c->block.address; at < pc && at < c->block.address + c->block.size; count++) {
    at += thumb_length(memory_halfword(area, at));
  }
  c->counted = (Counted){c->block.address, c->block.size, pc, c->block.generation, count};
  return count;
}

void core_retire(Core *c, uint32_t pc) {
  Area *area = memory_code(&c->memory, pc);
  core_settle_charge(c);
  if (c->calls) c->calls->retire(c, pc);
  c->time.executed++;
  c->time.charged++;
  if (!area) return;
  uint32_t slot = (pc - area->base) >> 1;
  area->slots[slot].executed++;
  area->covered[slot >> 3] |= (uint8_t)(1u << (slot & 7));
}

void core_invalidate(Core *c) {
  c->block.again = 1;
  c->operands.count = c->operands.kept = 0;
  c->block.generation += 2;  // bit 0 is the security state: each has its own decoded blocks
  if (c->block.generation > 1) return;
  c->block.generation += 2;
  for (int i = 0; i < c->memory.code_count; i++) {
    for (uint32_t at = 0; at < c->memory.code[i].size / 2; at++)
      c->memory.code[i].slots[at].key = 0;
  }
}

bool core_is_breakpoint(const Core *c, uint32_t address) {
  for (size_t i = 0; i < c->breakpoints.count; i++) {
    if (c->breakpoints.addresses[i] == address) return true;
  }
  return false;
}

bool core_watch(Core *c, uint64_t from, uint64_t to) {
  size_t hook;
  return !c->unicorn.api.hook_add(c->unicorn.handle, &hook, HOOK_MEM_INVALID, c->unicorn.on_access,
                                  c, from, to);
}

// Stores to watched pages are slow, whether they are refused or not.
bool core_watch_ram(Core *c) {
  const Area *ram = memory_ram(&c->memory);
  if (c->memory.watches_ram) return true;
  c->memory.watches_ram = core_watch(c, ram->base, ram->base + ram->size - 1);
  return c->memory.watches_ram;
}
