// Floating-point contexts. With FPCCR.LSPEN exception entry and VLSTM only reserve space for one:
// FPCAR is its address, LSPACT means that it is deferred. The block with the next floating-point
// instruction is cut before it (count.c), and the context is stored there. Without such an
// instruction neither the store nor, on return, the load takes place.
#include "fpu.h"

#include <string.h>

#include "fault.h"
#include "frame.h"
#include "priority.h"
#include "security.h"

enum { FPSCR_WORD = FPU_CALLER_SAVED, FPSCR_WORDS = 2 };

int fpu_registers(const Core *c, bool nonsecure) {
  const bool all = !nonsecure && c->cpu.scb[0]->fpccr & FPCCR_TS;
  return all ? 2 * FPU_CALLER_SAVED : FPU_CALLER_SAVED;
}

uint32_t fpu_context_size(const Core *c, bool nonsecure) {
  return 4 * (uint32_t)(fpu_registers(c, nonsecure) + FPSCR_WORDS);
}

void fpu_clear(Core *c, int count) {
  for (int i = 0; i < count; i++) core_set_reg(c, REG_S0 + i, 0);
  core_set_reg(c, REG_FPSCR, 0);
}

// Returns the index of a register's word in a context.
static int word_of(int number) { return number < FPU_CALLER_SAVED ? number : number + FPSCR_WORDS; }

static void copy_out(Core *c, uint32_t *words, int count) {
  for (int i = 0; i < count; i++) words[word_of(i)] = core_reg(c, REG_S0 + i);
  words[FPSCR_WORD] = core_reg(c, REG_FPSCR);
  words[FPSCR_WORD + 1] = 0;
}

void fpu_fill(Core *c, uint32_t *words, bool nonsecure) {
  const int count = fpu_registers(c, nonsecure);
  copy_out(c, words, count);
  if (count > FPU_CALLER_SAVED) fpu_clear(c, count);
}

// contexts that are deferred

static void set(uint32_t *bits, uint32_t which, bool value) {
  *bits = value ? *bits | which : *bits & ~which;
}

// Whether the fault could be taken now.
static bool is_ready(const Core *c, int cause, int now) {
  return fault_escalate(c, cause, now) == cause;
}

void fpu_defer(Core *c, uint32_t address) {
  const bool nonsecure = c->cpu.nonsecure;
  ScbBank *secure = c->cpu.scb[0], *own = c->cpu.scb[nonsecure];
  const int now = priority_now(c), banked = nonsecure ? NONSECURE : 0;
  own->fpcar = address & ~7u;
  set(&own->fpccr, FPCCR_USER, !security_is_privileged(c));
  set(&own->fpccr, FPCCR_THREAD, !(core_reg(c, REG_XPSR) & 0x1FF));
  set(&own->fpccr, FPCCR_SPLIMVIOL, false);
  set(&own->fpccr, FPCCR_MMRDY, is_ready(c, MEM_MANAGE | banked, now));
  set(&secure->fpccr, FPCCR_UFRDY, is_ready(c, USAGE_FAULT, now));
  set(&c->cpu.scb[1]->fpccr, FPCCR_UFRDY, is_ready(c, USAGE_FAULT | NONSECURE, now));
  set(&secure->fpccr, FPCCR_BFRDY, is_ready(c, BUS_FAULT, now));
  set(&secure->fpccr, FPCCR_SFRDY, is_ready(c, SECURE_FAULT, now));
  set(&secure->fpccr, FPCCR_HFRDY, now > -1);
  set(&secure->fpccr, FPCCR_S, !nonsecure);
  own->fpccr |= FPCCR_LSPACT;
  security_update_fp_access(c);
}

static void end_deferral(Core *c, bool nonsecure) {
  c->cpu.scb[nonsecure]->fpccr &= ~(uint32_t)FPCCR_LSPACT;
  security_update_fp_access(c);
}

// Whether the fault could be taken when the context was deferred.
static bool was_ready(const Core *c, int cause) {
  const uint32_t shared = c->cpu.scb[0]->fpccr, own = c->cpu.scb[cause >= NONSECURE]->fpccr;
  switch (cause & NUMBER) {
    case MEM_MANAGE:
      return own & FPCCR_MMRDY;
    case USAGE_FAULT:
      return own & FPCCR_UFRDY;
    case BUS_FAULT:
      return shared & FPCCR_BFRDY;
    default:
      return shared & FPCCR_SFRDY;
  }
}

// Pends a fault of storing a deferred context, which belongs to the context's code. False for
// lockup.
static bool pend_fault(Core *c, Failure why, uint32_t pc) {
  int number = why.cause;
  const uint32_t *address = frame_address(c, why);
  fault_note(c, why.cause, why.status, address);
  if (!was_ready(c, why.cause)) {
    number = fault_hard(c, why.cause);
    c->cpu.shared->hfsr |= HFSR_FORCED;
  }
  const bool preempts = nvic_group_priority(c->cpu.nvic, number) < priority_now(c);
  const bool locks = !preempts && !(c->cpu.scb[0]->fpccr & FPCCR_HFRDY);
  fault_report(c, (Fault){why.cause, locks ? 0 : number, why.status, pc, address, false});
  if (locks) {
    fault_lock_up(c, pc);
  } else {
    nvic_pend(c->cpu.nvic, number);
  }
  return !locks;
}

static Failure failure_of_deferred(Failure why) {
  switch (why.cause & NUMBER) {
    case MEM_MANAGE:
      why.status = MLSPERR;
      break;
    case BUS_FAULT:
      why.status = BLSPERR;
      break;
    default:
      why.status = LSPERR | SFARVALID;
  }
  return why;
}

// Stores the deferred context of a state; false, with `why`, if this is refused.
static bool store_deferred(Core *c, bool nonsecure, Failure *why) {
  const ScbBank *own = c->cpu.scb[nonsecure];
  const Accessor by = {nonsecure, !(own->fpccr & FPCCR_USER),
                       !(c->cpu.scb[0]->fpccr & FPCCR_HFRDY)};
  if (!security_cpacr_allows(c, nonsecure) || (nonsecure && !security_nsacr_allows(c))) {
    const bool own_fault = nonsecure && !security_cpacr_allows(c, nonsecure);
    *why = (Failure){USAGE_FAULT | (own_fault ? NONSECURE : 0), NOCP};
    return false;
  }
  if (own->fpccr & FPCCR_SPLIMVIOL) return true;
  uint32_t words[FPU_WORDS];
  const uint32_t size = fpu_context_size(c, nonsecure);
  uint8_t *place = frame_of(c, &by, own->fpcar, size, true, why);
  if (!place) {
    *why = failure_of_deferred(*why);
    return false;
  }
  copy_out(c, words, fpu_registers(c, nonsecure));
  memcpy(place, words, size);
  return true;
}

void fpu_preserve(Core *c, uint32_t pc) {
  const bool nonsecure = !(c->cpu.scb[0]->fpccr & FPCCR_S);
  const int count = fpu_registers(c, nonsecure);
  Failure why;
  if (!store_deferred(c, nonsecure, &why)) {
    if (!pend_fault(c, why, pc) || priority_deliverable(c)) return;
  }
  end_deferral(c, nonsecure);
  // Registers are UNKNOWN without TS: they are cleared for non-secure code.
  if (count > FPU_CALLER_SAVED || (!nonsecure && c->cpu.nonsecure)) fpu_clear(c, count);
  set(&c->cpu.scb[0]->fpccr, FPCCR_S, !c->cpu.nonsecure);
}

// contexts of the running state

bool fpu_store(Core *c, uint32_t address, bool privileged, Failure *why) {
  uint32_t words[FPU_WORDS];
  const uint32_t size = fpu_context_size(c, c->cpu.nonsecure);
  uint8_t *place = frame_at(c, address, size, true, privileged, why);
  if (!place) return false;
  copy_out(c, words, fpu_registers(c, c->cpu.nonsecure));
  fpu_clear(c, fpu_registers(c, c->cpu.nonsecure));
  memcpy(place, words, size);
  return true;
}

bool fpu_restore(Core *c, uint32_t address, bool privileged, Failure *why) {
  const bool nonsecure = c->cpu.nonsecure;
  const int count = fpu_registers(c, nonsecure);
  uint32_t words[FPU_WORDS];
  if (nonsecure && c->cpu.scb[0]->fpccr & FPCCR_LSPACT) {
    *why = (Failure){SECURE_FAULT, LSERR};
    return false;
  }
  if (c->cpu.scb[nonsecure]->fpccr & FPCCR_LSPACT) {
    end_deferral(c, nonsecure);
    return true;
  }
  if (!security_cpacr_allows(c, nonsecure) || (nonsecure && !security_nsacr_allows(c))) {
    const bool own = !security_cpacr_allows(c, nonsecure);
    *why = own ? (Failure){fault_own(c, USAGE_FAULT), NOCP} : (Failure){USAGE_FAULT, INVPC};
    return false;
  }
  const uint32_t size = fpu_context_size(c, nonsecure);
  const uint8_t *place = frame_at(c, address, size, false, privileged, why);
  if (!place) return false;
  memcpy(words, place, size);
  for (int i = 0; i < count; i++) core_set_reg(c, REG_S0 + i, words[word_of(i)]);
  core_set_reg(c, REG_FPSCR, words[FPSCR_WORD]);
  return true;
}
