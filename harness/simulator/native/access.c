// Accesses that Unicorn asks about: to devices, to flash, and where there is no memory.
#include <string.h>

#include "core.h"

// An answer by Python takes about as long as this many instructions.
#define PYTHON_INSTRUCTIONS 256
#define PRIVATE 0xE0000000u  // the private peripheral bus

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
    // The rest of a store of several words would go on, too.
    if (at == pc && thumb_length(first) == 2 && first >> 12 != 6) return true;
    if (at == pc && thumb_length(first) == 4 && (first & 0xFE00) != 0xF800) return true;
    at += thumb_length(first);
  }
  return !area;
}

// Unicorn finishes the block after a refused store; access_undo() undoes it from the store on.
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

// True if this access, or one before it in the block, ends the run before the end of the block.
static bool wants_stop(Core *c) {
  return c->stop_after || c->stop_at < c->executed || core_deliverable(c);
}

// Python is about to be asked: look at the clock sooner.
void access_note_python(Core *c) {
  c->look_at -= PYTHON_INSTRUCTIONS;
  core_limit(c);
}

static bool ask(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  uint32_t word = 0;
  access_note_python(c);
  c->refusal = (Failure){BUS_FAULT, PRECISERR | BFARVALID};
  if (!c->access(c, write, address, size, value, &word, &c->failed)) return false;
  if (write) return true;
  if (core_area(c->code, c->code_count, address)) return true;  // memory itself answers
  Area *window = core_area(c->windows, c->window_count, address);
  if (!window || address - window->base + (uint32_t)size > window->size) return false;
  memcpy(window->host + (address - window->base), &word, (size_t)(size < 4 ? size : 4));
  return true;
}

static const Served *served_at(Core *c, uint32_t address) {
  for (int i = 0; i < c->served_count; i++) {
    int index = c->last_served + i < c->served_count ? c->last_served + i
                                                     : c->last_served + i - c->served_count;
    const Served *s = &c->served[index];
    if (address - s->base >= s->registers->size) continue;
    c->last_served = index;
    return s;
  }
  return NULL;
}

// Carry out an access that is just a load or a store of a register; false: ask the machine.
static bool answer(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  if (size != 4 || address & 3 || c->divided || address >= PRIVATE) return false;
  const Served *at = served_at(c, address);
  if (!at) return false;
  if (!write) return registers_read(at, address - at->base);
  if (c->single && c->access_count < c->skip) return registers_take(at, address - at->base);
  if (!c->single && wants_stop(c)) return false;
  return registers_write(at, address - at->base, (uint32_t)value);
}

// Carry out an access that has further effects; false: ask the machine.
static bool carry_out(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  if (size != 4 || address & 3 || c->divided) return false;
  if (address >= PRIVATE) return scs_access(c, write, address, (uint32_t)value);
  const Served *at = served_at(c, address);
  if (!at) return false;
  uint32_t offset = address - at->base;
  uint8_t rule = at->registers->rules[offset / 4];
  if (write) return rule & SEND && value & 1 && uarte_start(c, at->registers);
  if (!(rule & COUNT)) return false;
  uint32_t counter = (uint32_t)registers_count(at->registers, core_now(c)) & 0xFFFFFF;
  memcpy(at->window + offset, &counter, sizeof counter);
  return true;
}

// Unicorn restored the IT state for this callback; the running block does not expect it.
static bool go_on(Core *c) {
  if (core_reg(c, REG_XPSR) & XPSR_IT) core_set_reg(c, REG_EPSR, XPSR_THUMB);
  return true;
}

bool access_hook(void *uc, int type, uint64_t address64, int size, int64_t value, void *user) {
  Core *c = user;
  (void)uc;
  if (c->aborting || c->failed) return false;
  uint32_t address = (uint32_t)address64;
  bool write = is_write(type);
  c->accesses++;
  if (answer(c, write, address, size, (uint64_t)value)) return go_on(c);
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
    allowed = carry_out(c, write, address, size, (uint64_t)value) ||
              ask(c, write, address, size, (uint64_t)value & mask);
    c->executed = end;
  }
  if (c->failed || !allowed) {
    c->reason = c->failed ? REASON_ERROR : REASON_MEMORY;
    return write ? abort_block(c, c->reason, pc) : false;
  }
  if (write && !c->single && wants_stop(c)) return abort_block(c, REASON_REPLAY, pc);
  return go_on(c);
}
