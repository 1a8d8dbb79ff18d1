// Exception frames (Armv8-M ARM, B3.18 to B3.22): entries and returns without complications.
//
// In all other cases (a frame that does not fit, a limit, the MPU, a wrong vector) nothing changes
// here, and harness/simulator/exceptions.py carries out the entry or return.
#include <string.h>

#include "core.h"

enum { BASIC = 0x20, EXTENDED = 0x68, FP_REGISTERS = 16, GRANULE = 32 };
enum { NPRIV = 1, SPSEL = 2, FPCA = 4, SFPA = 8 };
#define XPSR_ALIGNED 0x200u
#define XPSR_KEPT 0xF80F0000u
#define XPSR_SFPA 0x100000u

static const int caller_saved[] = {REG_R0, REG_R0 + 1, REG_R0 + 2, REG_R0 + 3, REG_R12, REG_LR};

// The bytes of a frame in writable memory, NULL if the access to any of them is refused.
static uint8_t *frame_at(Core *c, uint32_t address, uint32_t size, bool write, bool privileged) {
  Area *area = core_area(c->code, c->code_count, address);
  if (!area || area->stable || area->size - (address - area->base) < size) return NULL;
  if (!core_may_stack(c, area, address) || !core_may_stack(c, area, address + size - 1))
    return NULL;
  for (uint32_t at = address; !c->mpu_off && at < address + size; at = (at | (GRANULE - 1)) + 1) {
    if (!mpu_allows(&c->in_force, at, write, privileged)) return NULL;
  }
  return area->host + (address - area->base);
}

// CONTROL.SFPA matters only for secure code, and only if there is non-secure code.
static bool keeps_sfpa(const Core *c) { return c->divided && !c->nonsecure; }

// Unicorn derives its mode from CONTROL and IPSR when the flags are written.
static void refresh(Core *c) {
  core_set_reg(c, REG_APSR_NZCV, core_reg(c, REG_XPSR) & 0xF0000000u);
}

static bool within_limit(Core *c, uint32_t frame, bool process) {
  if (!(c->extras & EXTRA_LIMITS)) return true;
  uint32_t psplim, msplim;
  state_limits(c, &psplim, &msplim);
  return frame >= (process ? psplim : msplim);
}

static bool vector_of(Core *c, uint32_t address, uint32_t *vector) {
  Area *area = core_area(c->code, c->code_count, address);
  if (!area || area->size - (address - area->base) < 4 || !core_may_run(c, area, address)) {
    return false;
  }
  memcpy(vector, area->host + (address - area->base), 4);
  return *vector & 1;
}

// Stack the state, which goes on at `pc` later, and go to the handler in the vector at
// `vector_address`.
bool frame_enter(Core *c, int number, uint32_t pc, uint32_t vector_address, uint32_t exc_return) {
  uint32_t words[EXTENDED / 4] = {0}, vector;
  uint32_t xpsr = core_reg(c, REG_XPSR), sp = core_reg(c, REG_SP);
  uint32_t control = core_reg(c, REG_CONTROL);
  bool thread = !(xpsr & 0x1FF), process = thread && (control & SPSEL), extended = control & FPCA;
  uint32_t size = extended ? EXTENDED : BASIC, frame = (sp - size) & ~7u;
  uint8_t *place = frame_at(c, frame, size, true, !(thread && (control & NPRIV)));
  if (!place || !vector_of(c, vector_address, &vector) || !within_limit(c, frame, process)) {
    return false;
  }
  if (c->extras & EXTRA_EXCLUSIVE) state_clear_monitor(c);
  for (int i = 0; i < 6; i++) words[i] = core_reg(c, caller_saved[i]);
  words[6] = pc;
  words[7] = (xpsr & ~XPSR_ALIGNED) | ((sp - size) & 4) << 7;
  if (keeps_sfpa(c)) words[7] |= (control & SFPA) << 17;
  for (int i = 0; extended && i < FP_REGISTERS; i++) words[8 + i] = core_reg(c, REG_S0 + i);
  if (extended) words[8 + FP_REGISTERS] = core_reg(c, REG_FPSCR);
  memcpy(place, words, size);
  // The processor switches to handler mode, hence to the main stack, with the write of xPSR.
  core_set_reg(c, REG_SP, frame);
  core_set_reg(c, REG_XPSR_NZCVQG, (xpsr & XPSR_KEPT) | XPSR_THUMB | (uint32_t)number);
  core_set_reg(c, REG_CONTROL, control & ~(uint32_t)(SPSEL | FPCA | SFPA));
  core_set_reg(c, REG_LR,
               exc_return | (uint32_t)!extended << 4 | (uint32_t)thread << 3 | process << 2);
  core_set_reg(c, REG_PC, vector);
  core_set_reg(c, REG_EPSR, XPSR_THUMB);
  refresh(c);
  return true;
}

// Go to the next handler; what is stacked stays where it is.
bool frame_chain(Core *c, int number, uint32_t vector_address, uint32_t exc_return) {
  uint32_t vector;
  if (!vector_of(c, vector_address, &vector)) return false;
  core_set_reg(c, REG_XPSR_NZCVQG, (core_reg(c, REG_XPSR) & ~0x1FFu) | (uint32_t)number);
  core_set_reg(c, REG_LR, exc_return);
  core_set_reg(c, REG_PC, vector);
  core_set_reg(c, REG_EPSR, XPSR_THUMB);
  refresh(c);
  return true;
}

// Restore the state from the frame that `exc_return` means.
bool frame_leave(Core *c, uint32_t exc_return) {
  uint32_t words[EXTENDED / 4];
  uint32_t control = core_reg(c, REG_CONTROL);
  bool process = (exc_return & 0xC) == 0xC, thread = exc_return & 8,
       extended = !(exc_return & 0x10);
  int stack = process ? REG_PSP : REG_SP;
  uint32_t frame = core_reg(c, stack), size = extended ? EXTENDED : BASIC;
  uint8_t *place = frame_at(c, frame, size, false, !(thread && (control & NPRIV)));
  if (!place || frame & 3) return false;
  memcpy(words, place, size);
  uint32_t xpsr = words[7];
  if (((xpsr & 0x1FF) == 0) != thread) return false;
  for (int i = 0; i < 6; i++) core_set_reg(c, caller_saved[i], words[i]);
  for (int i = 0; extended && i < FP_REGISTERS; i++) core_set_reg(c, REG_S0 + i, words[8 + i]);
  if (extended) core_set_reg(c, REG_FPSCR, words[8 + FP_REGISTERS]);
  core_set_reg(c, stack, (frame + size) | (xpsr >> 7 & 4));
  core_set_reg(c, REG_CONTROL,
               (control & NPRIV) | (uint32_t)process << 1 | (uint32_t)extended << 2 |
                   (keeps_sfpa(c) ? xpsr >> 17 & SFPA : SFPA));
  core_set_reg(c, REG_PC, words[6] | (xpsr >> 24 & 1));
  core_set_reg(c, REG_XPSR_NZCVQG, xpsr & ~(XPSR_ALIGNED | XPSR_SFPA));
  refresh(c);
  if (c->extras & EXTRA_EXCLUSIVE) state_clear_monitor(c);
  return true;
}
