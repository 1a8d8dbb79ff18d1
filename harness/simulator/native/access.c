// Accesses that Unicorn's page rights refuse: to devices, to flash, and where there is no memory.
#include "access.h"

#include <string.h>

#include "priority.h"
#include "rtc.h"
#include "scs.h"
#include "thumb.h"
#include "uarte.h"

#define POLLS 4              // reads of a register in a row that are taken for a wait
#define PRIVATE 0xE0000000u  // the private peripheral bus

static bool is_write(int type) { return type == MEM_WRITE_PROT || type == MEM_WRITE_UNMAPPED; }

// Whether an address is Device memory in the default memory map: each access must be aligned.
static bool is_device(uint32_t address) {
  return address - 0x40000000 < 0x20000000 || address >= 0xA0000000;
}

static void copy_memory(Core *c, bool save) {
  uint8_t *at = c->memory.shadow;
  for (int i = 0; i < c->memory.code_count; i++) {
    Area *area = &c->memory.code[i];
    if (area->stable) continue;
    memcpy(save ? at : area->host, save ? area->host : at, area->size);
    at += area->size;
  }
}

static bool stores_follow(Core *c, uint32_t pc) {
  Area *area = memory_code(&c->memory, pc);
  for (uint32_t at = pc; area && at < c->block.address + c->block.size;) {
    uint16_t first = memory_halfword(area, at);
    if (at != pc && thumb_may_store(first)) return true;
    // The rest of a store of several words would be carried out, too.
    if (at == pc && thumb_length(first) == 2 && first >> 12 != 6) return true;
    if (at == pc && thumb_length(first) == 4 && (first & 0xFE00) != 0xF800) return true;
    at += thumb_length(first);
  }
  return !area;
}

// Unicorn finishes the block after a refused store; access_undo() undoes it from the store on.
static bool abort_block(Core *c, int reason, uint32_t pc) {
  c->unicorn.api.context_save(c->unicorn.handle, c->unicorn.context);
  c->access.shadowed = stores_follow(c, pc);
  if (c->access.shadowed) copy_memory(c, true);
  c->access.aborting = true;
  c->stop.reason = reason;
  c->unicorn.api.stop(c->unicorn.handle);
  return false;
}

void access_undo(Core *c) {
  c->unicorn.api.context_restore(c->unicorn.handle, c->unicorn.context);
  if (c->access.shadowed) copy_memory(c, false);
  c->access.aborting = false;
}

// Whether this access, or an earlier one in the block, ends the run before the end of the block.
static bool wants_stop(Core *c) {
  return c->stop.after || c->time.stop_at < c->time.executed || priority_deliverable(c);
}

static bool call_machine(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  uint32_t word = 0;
  core_note_python(c);
  c->access.failure = (Failure){BUS_FAULT, PRECISERR | BFARVALID};
  if (!c->machine.access(c, write, address, size, value, &word)) return false;
  if (write) return true;
  if (memory_code(&c->memory, address)) return true;  // memory, not a device
  Area *window = memory_window(&c->memory, address);
  if (!window || address - window->base + (uint32_t)size > window->size) return false;
  memcpy(window->host + (address - window->base), &word, (size_t)(size < 4 ? size : 4));
  return true;
}

static Served *served_at(Core *c, uint32_t address) {
  for (int i = 0; i < c->devices.count; i++) {
    int index = c->devices.last + i < c->devices.count ? c->devices.last + i
                                                       : c->devices.last + i - c->devices.count;
    Served *s = &c->devices.served[index];
    if (address - s->base >= s->registers->size) continue;
    c->devices.last = index;
    return s;
  }
  return NULL;
}

// Searches for an idle loop as soon as registers are read again and again.
static void note_poll(Core *c) {
  c->access.polls = c->access.total == c->access.others ? c->access.polls + 1 : 0;
  c->access.others = c->access.total;
  if (c->access.polls < POLLS || c->idle.watching || c->time.look_at < c->time.executed) return;
  c->access.polls = 0;
  c->time.look_at = c->time.executed;
  core_limit(c);
}

// Carries out an access to the MPU's regions, which a kernel writes often: neither does the time
// count, nor can an exception become deliverable.
static bool answer_region(Core *c, bool write, uint32_t address, uint32_t value) {
  if (c->attribution.divided || !scs_is_region(address)) return false;
  if (write && (c->part.single || wants_stop(c))) return false;
  if (!scs_access(c, write, address, value)) return false;
  c->access.total++;
  return true;
}

// Carries out a plain load or store of a register; false if the machine must do so.
static bool answer(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  if (size != 4 || address & 3) return false;
  if (address >= PRIVATE) return answer_region(c, write, address, (uint32_t)value);
  const Served *at = served_at(c, address);
  if (!at || (c->attribution.divided && !at->admitted[c->cpu.nonsecure])) return false;
  if (!write) {
    if (!registers_read(at, address - at->base)) return false;
    c->access.loads++;
    c->access.loaded = address;
    note_poll(c);
    return true;
  }
  c->access.total++;
  if (c->part.single && c->access.count < c->access.skip)
    return registers_take(at, address - at->base);
  if (!c->part.single && wants_stop(c)) return false;
  return registers_write(at, address - at->base, (uint32_t)value);
}

static bool carry_out_write(Core *c, Registers *r, uint32_t offset, uint32_t value) {
  const uint8_t rule = r->rules[offset / 4];
  if (rule & SCHEDULE) return rtc_write(c, r, offset, value);
  if (rule & SEND) return value & 1 && uarte_start(c, r);
  if (!(rule & EVENT_WRITE)) return false;
  r->words[offset / 4] = value & 1;
  registers_drive(r, c->cpu.nvic);
  return true;
}

// Carries out an access with further effects; false if the machine must do so.
static bool carry_out(Core *c, bool write, uint32_t address, int size, uint64_t value) {
  if (size != 4 || address & 3 || c->attribution.divided) return false;
  if (address >= PRIVATE) return scs_access(c, write, address, (uint32_t)value);
  const Served *at = served_at(c, address);
  if (!at) return false;
  uint32_t offset = address - at->base;
  uint8_t rule = at->registers->rules[offset / 4];
  if (write) return carry_out_write(c, at->registers, offset, (uint32_t)value);
  if (!(rule & COUNT)) return false;
  uint32_t counter = (uint32_t)registers_count(at->registers, core_now(c)) & 0xFFFFFF;
  memcpy(at->window + offset, &counter, sizeof counter);
  return true;
}

// Notes an access that the machine has allowed: later ones are, for this state, until the SPU
// changes.
static void admit(Core *c, uint32_t address) {
  Served *at = address < PRIVATE && c->attribution.divided ? served_at(c, address) : NULL;
  if (at && !at->registers->split) at->admitted[c->cpu.nonsecure] = true;
}

// Undoes Unicorn's restoration of the IT state for this callback, which the block does not expect.
static bool go_on(Core *c) {
  if (c->block.slot && !c->block.slot->conditional) return true;
  if (core_reg(c, REG_XPSR) & XPSR_IT) core_set_reg(c, REG_EPSR, XPSR_THUMB);
  return true;
}

bool access_hook(void *uc, int type, uint64_t address64, int size, int64_t value, void *user) {
  Core *c = user;
  (void)uc;
  if (c->access.aborting || c->machine.failed) return false;
  uint32_t address = (uint32_t)address64;
  bool write = is_write(type);
  if (answer(c, write, address, size, (uint64_t)value)) return go_on(c);
  c->access.total++;
  c->access.type = type;
  c->access.address = address;
  c->access.size = size;
  if (type == MEM_FETCH_PROT || type == MEM_FETCH_UNMAPPED) {
    c->stop.reason = REASON_MEMORY;
    return false;
  }
  uint32_t pc = core_reg(c, REG_PC);
  long long end = c->time.executed, here = end - (c->block.count - core_count_before(c, pc));
  if (c->access.here != here) {
    c->access.here = here;
    c->access.count = 0;
  }
  c->access.count += write;
  if (is_device(address) && address & ((size < 4 ? (uint32_t)size : 4) - 1)) {
    c->access.failure = (Failure){USAGE_FAULT, UNALIGNED};
    c->stop.reason = REASON_MEMORY;
    return write ? abort_block(c, REASON_MEMORY, pc) : false;
  }
  bool allowed = true;
  if (!(write && c->access.count <= c->access.skip)) {
    uint64_t mask = size < 8 ? (1ULL << 8 * size) - 1 : ~0ULL;
    c->time.executed = here;  // the time of the access
    const bool nonsecure = c->cpu.nonsecure;
    allowed = carry_out(c, write, address, size, (uint64_t)value) ||
              call_machine(c, write, address, size, (uint64_t)value & mask);
    c->time.executed = end;
    if (allowed && !write && nonsecure == c->cpu.nonsecure) admit(c, address);
  }
  if (c->machine.failed || !allowed) {
    c->stop.reason = c->machine.failed ? REASON_ERROR : REASON_MEMORY;
    return write ? abort_block(c, c->stop.reason, pc) : false;
  }
  if (write && !c->part.single && wants_stop(c)) return abort_block(c, REASON_REPLAY, pc);
  return go_on(c);
}
