// Accesses that Unicorn asks about: devices, flash, what is no memory.
#include <string.h>

#include "core.h"

// An access that Python answers takes about as long as so many instructions.
#define ACCESS_INSTRUCTIONS 256

static bool is_write(int type) { return type == MEM_WRITE_PROT || type == MEM_WRITE_UNMAPPED; }

static void copy_memory(Core *c, bool save) {
  uint8_t *at = c->shadow;
  for (int i = 0; i < c->code_count; i++) {
    Area *area = &c->code[i];
    if (area->stable) continue;
    memcpy(save ? at : area->host, save ? area->host : at, area->size);
    at += area->size;
  }
}

static bool stores_follow(Core *c, uint32_t pc) {
  Area *area = core_area(c->code, c->code_count, pc);
  for (uint32_t at = pc; area && at < c->block + c->block_size;) {
    uint16_t first = core_halfword(area, at);
    if (at != pc && thumb_may_store(first)) return true;
    // The rest of a store of several words goes on, too.
    if (at == pc && thumb_length(first) == 2 && first >> 12 != 6) return true;
    if (at == pc && thumb_length(first) == 4 && (first & 0xFE00) != 0xF800) return true;
    at += thumb_length(first);
  }
  return !area;
}

// Unicorn finishes the block after a refused store; access_undo() takes back all from the store on.
static bool abort_block(Core *c, int reason, uint32_t pc) {
  c->api.context_save(c->uc, c->context);
  c->shadowed = stores_follow(c, pc);
  if (c->shadowed) copy_memory(c, true);
  c->aborting = true;
  c->reason = reason;
  c->api.stop(c->uc);
  return false;
}

void access_undo(Core *c) {
  c->api.context_restore(c->uc, c->context);
  if (c->shadowed) copy_memory(c, false);
  c->aborting = false;
}

static bool ask(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  uint32_t word = 0;
  if (!c->access(c, write, address, size, value, &word, &c->failed)) return false;
  if (write) return true;
  Area *window = core_area(c->windows, c->window_count, address);
  if (!window || address - window->base + (uint32_t)size > window->size) return false;
  memcpy(window->host + (address - window->base), &word, (size_t)(size < 4 ? size : 4));
  return true;
}

bool access_hook(void *uc, int type, uint64_t address64, int size, int64_t value, void *user) {
  Core *c = user;
  (void)uc;
  if (c->aborting || c->failed) return false;
  uint32_t address = (uint32_t)address64;
  bool write = is_write(type);
  c->accesses++;
  c->look_at -= ACCESS_INSTRUCTIONS;
  core_limit(c);
  c->fault_type = type;
  c->fault_address = address;
  c->fault_size = size;
  if (type == MEM_FETCH_PROT || type == MEM_FETCH_UNMAPPED) {
    c->reason = REASON_MEMORY;
    return false;
  }
  uint32_t pc = core_reg(c, REG_PC);
  long long end = c->executed, here = end - (c->block_count - core_count_before(c, pc));
  if (c->access_here != here) {
    c->access_here = here;
    c->access_count = 0;
  }
  c->access_count += write;
  bool allowed = true;
  if (!(write && c->access_count <= c->skip)) {
    uint64_t mask = size < 8 ? (1ULL << 8 * size) - 1 : ~0ULL;
    c->executed = here;  // what the machine reads as "now" during the access
    allowed = ask(c, write, address, size, (uint64_t)value & mask);
    c->executed = end;
  }
  if (c->failed || !allowed) {
    c->reason = c->failed ? REASON_ERROR : REASON_MEMORY;
    return write ? abort_block(c, c->reason, pc) : false;
  }
  if (write && !c->single && (c->stop_after || c->stop_at < end || core_deliverable(c))) {
    return abort_block(c, REASON_REPLAY, pc);
  }
  // Unicorn restored the IT state for this callback; the running block does not expect it.
  if (core_reg(c, REG_XPSR) & XPSR_IT) core_set_reg(c, REG_EPSR, XPSR_THUMB);
  return true;
}
