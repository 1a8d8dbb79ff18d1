// The part of the processor's state that Unicorn's interface does not give.
//
// Unicorn has the Armv8-M MPU, stack limits and fault registers, but no bus address for them. In a
// saved context they are at fixed distances from registers that the interface does give. These
// distances are found and checked when a machine is opened: see state_find().
#include "state.h"

#include <string.h>

#include "thumb.h"

// Distances from the first system register (the stack pointer that is not in use). Of banked
// registers the non-secure one is first; the core is in secure state.
enum {
  OTHER_MSP = 4,  // of the other security state
  OTHER_PSP = 8,
  BASEPRI = 20,
  CONTROL = 28,
  MPU_CTRL = 80,
  EXCEPTION = 88,
  PRIMASK = 92,
  FAULTMASK = 100,
  SECURE = 112,
  MSPLIM = 132,
  PSPLIM = 140,
  FAULT_STATUS = 188,
  FAULT_ADDRESS = 192,
  FPCCR = 156,
  FPDSCR = 164,
  MONITOR = 936,       // address of the exclusive monitor, 64 bits
  FEATURES = 1160,     // first of constants and host pointers
  OLD_REGIONS = 1168,  // three pointers of the Armv7-M MPU, unused
  RBAR = 1200,         // pointers to the base and limit registers, two banks each
  RLAR = 1216,
};
enum { BANK = 4, SECURE_BANK = 1 };

static uint8_t *at(Core *c, size_t distance) {
  return (uint8_t *)c->unicorn.context + c->unicorn.layout.system + distance;
}

static void save(Core *c) { c->unicorn.api.context_save(c->unicorn.handle, c->unicorn.context); }

static void restore(Core *c) {
  c->unicorn.api.context_restore(c->unicorn.handle, c->unicorn.context);
}

static uint32_t word(Core *c, size_t distance) {
  uint32_t value;
  memcpy(&value, at(c, distance), sizeof value);
  return value;
}

static void set_word(Core *c, size_t distance, uint32_t value) {
  memcpy(at(c, distance), &value, sizeof value);
}

static uint32_t *pointer(Core *c, size_t distance) {
  uint32_t *value;
  memcpy(&value, at(c, distance), sizeof value);
  return value;
}

// Returns the only offset of `value` in a saved context, 0 if there is none or several.
static size_t place_of(Core *c, uint32_t value) {
  size_t found = 0;
  save(c);
  for (size_t i = 0; i + 4 <= c->unicorn.context_bytes; i += 4) {
    if (memcmp((uint8_t *)c->unicorn.context + i, &value, 4)) continue;
    if (found) return 0;
    found = i;
  }
  return found;
}

static bool shows(Core *c, int id, uint32_t value, size_t distance) {
  core_set_reg(c, id, value);
  save(c);
  bool same = word(c, distance) == value;
  core_set_reg(c, id, 0);
  return same;
}

const char *state_find(Core *c) {
  const uint32_t mark = 0x5A17C0DCu;
  core_set_reg(c, REG_R0, mark);
  c->unicorn.layout.registers = place_of(c, mark);
  core_set_reg(c, REG_R0, 0);
  core_set_reg(c, REG_PSP, mark);
  c->unicorn.layout.system = place_of(c, mark);
  core_set_reg(c, REG_PSP, 0);
  if (!c->unicorn.layout.registers || c->unicorn.layout.system < c->unicorn.layout.registers)
    return "registers";
  c->unicorn.layout.end = c->unicorn.layout.system + FEATURES;
  if (c->unicorn.layout.system + RLAR + 16 > c->unicorn.context_bytes)
    return "the size of a context";
  if (!shows(c, REG_BASEPRI, 0x40, BASEPRI + BANK)) return "BASEPRI";
  if (!shows(c, REG_PRIMASK, 1, PRIMASK + BANK)) return "PRIMASK";
  if (!shows(c, REG_FAULTMASK, 1, FAULTMASK + BANK)) return "FAULTMASK";
  core_set_reg(c, REG_CONTROL, 2);
  save(c);
  bool control = word(c, CONTROL + BANK) == 2 && word(c, CONTROL) == 0;
  core_set_reg(c, REG_CONTROL, 0);
  if (!control) return "CONTROL";
  save(c);
  if (word(c, SECURE) != 1) return "the security state";
  if (word(c, FPCCR + BANK) != (FPCCR_ASPEN | FPCCR_LSPEN | FPCCR_S)) return "FPCCR";
  if (word(c, MONITOR) != ~0u || word(c, MONITOR + 4) != ~0u) return "the exclusive monitor";
  for (size_t i = 0; i < 3; i++) {
    if (pointer(c, OLD_REGIONS + i * sizeof(void *))) return "the Armv7-M MPU";
  }
  for (size_t i = 0; i < 4; i++) {
    if (!pointer(c, RBAR + i * sizeof(void *))) return "the MPU's regions";
  }
  return NULL;
}

// Reads the fault registers after a refusal by the MPU or the default memory map.
void state_note_fault(Core *c) {
  save(c);
  c->access.address = word(c, FAULT_ADDRESS);
  c->access.status = word(c, FAULT_STATUS);
}

void state_set_mpu(Core *c, const Regions *regions) {
  save(c);
  set_word(c, MPU_CTRL + BANK, regions->ctrl);
  restore(c);
  // These pointers are to the processor's own registers, which restore() has restored.
  size_t bank = SECURE_BANK * sizeof(void *);
  memcpy(pointer(c, RBAR + bank), regions->bases, sizeof regions->bases);
  memcpy(pointer(c, RLAR + bank), regions->limits, sizeof regions->limits);
}

// Unicorn uses only ASPEN of FPCCR.
void state_set_fpu(Core *c, const uint32_t fpccr[2], const uint32_t fpdscr[2]) {
  bool same = true;
  save(c);
  for (int i = 0; i < 2; i++) {
    const size_t bank = c->cpu.nonsecure == i ? BANK : 0;
    const uint32_t control = (word(c, FPCCR + bank) & ~FPCCR_ASPEN) | (fpccr[i] & FPCCR_ASPEN);
    same &= control == word(c, FPCCR + bank) && fpdscr[i] == word(c, FPDSCR + bank);
    set_word(c, FPCCR + bank, control);
    set_word(c, FPDSCR + bank, fpdscr[i]);
  }
  if (!same) restore(c);
}

void state_limits(Core *c, uint32_t *psplim, uint32_t *msplim) {
  save(c);
  *psplim = word(c, PSPLIM + BANK);
  *msplim = word(c, MSPLIM + BANK);
}

void state_set_limits(Core *c, uint32_t psplim, uint32_t msplim) {
  save(c);
  set_word(c, PSPLIM + BANK, psplim);
  set_word(c, MSPLIM + BANK, msplim);
  restore(c);
}

static void exchange(Core *c, size_t distance, uint32_t bits) {
  uint32_t one = word(c, distance), other = word(c, distance + BANK);
  set_word(c, distance, (one & ~bits) | (other & bits));
  set_word(c, distance + BANK, (other & ~bits) | (one & bits));
}

// Unicorn's secure bank always has the registers of the current security state. Its other bank has
// those of the other state, which MRS and MSR with _NS names access.
void state_exchange_banks(Core *c) {
  enum { SPSEL = 2, BANKED_CONTROL = 3 };
  save(c);
  uint8_t *r13 =
      (uint8_t *)c->unicorn.context + c->unicorn.layout.registers + 13 * sizeof(uint32_t);
  uint32_t pointer_now, aside = word(c, 0);
  memcpy(&pointer_now, r13, sizeof pointer_now);
  bool handler = word(c, EXCEPTION) != 0;
  bool process = !handler && (word(c, CONTROL + BANK) & SPSEL);
  uint32_t msp = word(c, OTHER_MSP), psp = word(c, OTHER_PSP);
  set_word(c, OTHER_MSP, process ? aside : pointer_now);
  set_word(c, OTHER_PSP, process ? pointer_now : aside);
  exchange(c, BASEPRI, ~0u);
  exchange(c, CONTROL, BANKED_CONTROL);
  exchange(c, PRIMASK, ~0u);
  exchange(c, FAULTMASK, ~0u);
  exchange(c, MSPLIM, ~0u);
  exchange(c, PSPLIM, ~0u);
  exchange(c, FPCCR, FPCCR_ASPEN);
  exchange(c, FPDSCR, ~0u);
  process = !handler && (word(c, CONTROL + BANK) & SPSEL);
  memcpy(r13, process ? &psp : &msp, sizeof msp);
  set_word(c, 0, process ? msp : psp);
  memset(at(c, MONITOR), 0xFF, 8);
  restore(c);
}

// Returns PRIMASK, FAULTMASK, BASEPRI and CONTROL of the other security state.
void state_other(Core *c, uint32_t values[4]) {
  save(c);
  values[0] = word(c, PRIMASK) & 1;
  values[1] = word(c, FAULTMASK) & 1;
  values[2] = word(c, BASEPRI) & 0xFF;
  values[3] = word(c, CONTROL) & 3;
}

void state_clear_monitor(Core *c) {
  save(c);
  if (word(c, MONITOR) == ~0u) return;
  memset(at(c, MONITOR), 0xFF, 8);
  restore(c);
}

size_t state_size(const Core *c) { return c->unicorn.layout.end - c->unicorn.layout.registers; }

// Saves the state without the MPU's registers, which are kept elsewhere and stay in force.
void state_save(Core *c, uint8_t *into) {
  save(c);
  set_word(c, MPU_CTRL + BANK, 0);
  if (!(c->cpu.extras & EXTRA_LIMITS)) {  // they may be those of stack_watch.c
    set_word(c, MSPLIM + BANK, 0);
    set_word(c, PSPLIM + BANK, 0);
  }
  memcpy(into, (uint8_t *)c->unicorn.context + c->unicorn.layout.registers, state_size(c));
}

void state_load(Core *c, const uint8_t *from) {
  save(c);
  memcpy((uint8_t *)c->unicorn.context + c->unicorn.layout.registers, from, state_size(c));
  set_word(c, MPU_CTRL + BANK, c->mpu.in_force.ctrl);
  restore(c);
  c->block.sequential = 0;
}
