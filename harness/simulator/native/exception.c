// Exception entry and return (Armv8-M ARM, B3.18 to B3.24), within a security state and between
// both.
//
// A return to a pending exception tail-chains: the frame is neither read nor written.
#include "exception.h"

#include <string.h>

#include "attribution.h"
#include "fault.h"
#include "fpu.h"
#include "frame.h"
#include "priority.h"
#include "protection.h"
#include "security.h"
#include "stack_watch.h"
#include "state.h"
#include "thumb.h"

enum { BASIC = 0x20, CALLEE_SAVED = 0x28 };
// EXC_RETURN: secure stack, default stacking, FType, mode, SPSEL, secure exception.
enum { S = 1 << 6, DCRS = 1 << 5, NO_FP = 1 << 4, THREAD = 1 << 3, PROCESS = 1 << 2, ES = 1 };
#define EXC_RETURN_PREFIX 0xFFFFFF80u
#define EXC_RETURN_FIXED 0x00FFFF82u
#define RETPSR_ALIGNED 0x200u
#define RETPSR_SFPA 0x100000u
#define XPSR_KEPT 0xF80F0000u
// The integrity signature of the additional state context; bit 0 is EXC_RETURN.FType.
#define SIGNATURE 0xFEFA125Au

static const int caller_saved[] = {REG_R0, REG_R0 + 1, REG_R0 + 2, REG_R0 + 3, REG_R12, REG_LR};

static uint32_t frame_size(const Core *c, bool extended) {
  return BASIC + (extended ? fpu_context_size(c, c->cpu.nonsecure) : 0);
}

static bool is_nonsecure(const Core *c, int number) {
  return c->attribution.divided && nvic_has(c->cpu.nvic, TARGETS_NONSECURE, number);
}

// entry

// Reads the vector of an exception; false if it cannot be read.
static bool vector_of(const Core *c, int number, uint32_t *vector) {
  const bool nonsecure = is_nonsecure(c, number);
  uint32_t address = c->cpu.scb[nonsecure]->vtor + 4 * (uint32_t)(number & NUMBER);
  const Area *area = memory_holding(&c->memory, address, 4);
  if (!area || (nonsecure && attribution_is_secure(c, address))) return false;
  memcpy(vector, area->host + (address - area->base), 4);
  return true;
}

// Pushes r4 to r11 on the stack with the frame.
static void push_callee_saved(Core *c, uint32_t exc_return) {
  bool process = exc_return & THREAD && core_reg(c, REG_CONTROL) & SPSEL;
  int stack = process ? REG_PSP : REG_SP;
  uint32_t frame = core_reg(c, stack) - CALLEE_SAVED;
  Failure why;
  uint8_t *place = frame_at(c, frame, CALLEE_SAVED, true, true, &why);
  core_set_reg(c, stack, frame);
  if (frame < frame_limit(c, process)) {
    place = NULL;
    why = (Failure){USAGE_FAULT, STKOF};
  }
  if (!place) {
    fault_note(c, why.cause, why.status, NULL);
    fault_report(c, (Fault){why.cause, why.cause, why.status, core_reg(c, REG_PC), NULL, true});
    nvic_pend(c->cpu.nvic, why.cause);
    return;
  }
  uint32_t words[CALLEE_SAVED / 4] = {SIGNATURE | (exc_return & NO_FP) >> 4};
  for (int i = 0; i < 8; i++) words[2 + i] = core_reg(c, REG_R0 + 4 + i);
  memcpy(place, words, sizeof words);
}

static void clear_registers(Core *c, int number) {
  for (int i = 0; i < 13; i++) core_set_reg(c, REG_R0 + i, 0);
  if (!c->cpu.fp_lazy) fpu_clear(c, fpu_registers(c, false));
  core_set_reg(c, REG_XPSR_NZCVQG, XPSR_THUMB | (uint32_t)(number & NUMBER));
}

// Changes to the state that takes the exception (Armv8-M ARM, ExceptionTaken); returns EXC_RETURN.
// From secure to non-secure code, r4 to r11 are stacked with their signature, and all registers are
// cleared. `tail`: nothing was stacked for this exception.
static uint32_t cross(Core *c, int number, uint32_t exc_return, bool tail) {
  const bool target = is_nonsecure(c, number);
  const bool stacked = tail && !(exc_return & ES);  // by an earlier non-secure exception
  if (exc_return & S && !target && stacked) {
    exc_return &= ~(uint32_t)DCRS;
  } else if (exc_return & S && target) {
    if (exc_return & DCRS && !stacked) push_callee_saved(c, exc_return);
    exc_return |= DCRS;
    clear_registers(c, number);
  }
  exc_return = target ? exc_return & ~(uint32_t)ES : exc_return | ES;
  const bool changes = c->cpu.nonsecure != target;
  if (changes) security_change_state(c);
  if (changes || tail) {
    uint32_t control = core_reg(c, REG_CONTROL);
    exc_return = (exc_return & ~(uint32_t)PROCESS) | (control & SPSEL) << 1;
    core_set_reg(c, REG_CONTROL, control & ~(uint32_t)SPSEL);
  }
  return exc_return;
}

// Finds the handler of `*number`, or of HardFault if its vector cannot be read; false for lockup.
static bool find_handler(Core *c, int *number, uint32_t *exc_return, uint32_t *vector) {
  if (vector_of(c, *number, vector)) return true;
  c->cpu.shared->hfsr |= HFSR_VECTTBL;
  const bool locks = (*number & NUMBER) == HARD_FAULT;
  const int taken = locks ? 0 : HARD_FAULT;
  fault_report(c, (Fault){HARD_FAULT, taken, 0, core_reg(c, REG_PC) & ~1u, NULL, true});
  if (locks) return false;
  core_set_reg(c, REG_XPSR_NZCVQG, (core_reg(c, REG_XPSR) & ~0x1FFu) | HARD_FAULT);
  nvic_unpend(c->cpu.nvic, *number);
  *number = fault_hard(c, *number);
  if (c->attribution.divided) *exc_return = cross(c, *number, *exc_return, true);
  return vector_of(c, *number, vector);
}

static void go_to_handler(Core *c, int number, uint32_t exc_return, bool tail) {
  uint32_t vector;
  if (c->attribution.divided) exc_return = cross(c, number, exc_return, tail);
  if (!find_handler(c, &number, &exc_return, &vector)) {
    fault_lock_up(c, 0);
    return;
  }
  core_set_reg(c, REG_LR, exc_return);
  core_set_reg(c, REG_PC, vector | 1);
  core_set_reg(c, REG_EPSR, vector & 1 ? XPSR_THUMB : 0);
  core_refresh_mode(c);
  nvic_activate(c->cpu.nvic, number);
  protection_follow(c);
}

// Fills the frame's words, from the lowest address on.
static void fill_frame(Core *c, uint32_t *words, uint32_t pc, uint32_t retpsr) {
  for (int i = 0; i < 6; i++) words[i] = core_reg(c, caller_saved[i]);
  words[6] = pc;
  words[7] = retpsr;
}

// Returns RETPSR.SFPA: the interrupted code is secure, and has a secure FP context.
static bool has_secure_fp(const Core *c, uint32_t control) {
  return control & SFPA && !c->cpu.nonsecure && !c->cpu.nonsecure_frames;
}

static void clear_monitor(Core *c) {
  if (c->cpu.extras & EXTRA_EXCLUSIVE) state_clear_monitor(c);
}

void exception_enter(Core *c, int number, uint32_t pc) {
  c->time.exception = core_now(c);
  const uint32_t xpsr = core_reg(c, REG_XPSR), control = core_reg(c, REG_CONTROL);
  const bool thread = !(xpsr & 0x1FF), process = thread && control & SPSEL;
  const bool extended = control & FPCA, across = is_nonsecure(c, number) != c->cpu.nonsecure;
  const uint32_t size = frame_size(c, extended), below = core_reg(c, REG_SP) - size;
  const uint32_t frame = below & ~7u, kept = (xpsr & XPSR_KEPT) | XPSR_THUMB;
  const bool lazy = extended && c->cpu.scb[0]->fpccr & FPCCR_LSPEN;
  const bool twice = extended && c->cpu.fp_lazy;  // an earlier context is not stacked yet
  uint32_t words[BASIC / 4 + FPU_WORDS], exc_return = EXC_RETURN_PREFIX | DCRS;
  uint32_t retpsr = (xpsr & ~RETPSR_ALIGNED) | (below & 4) << 7;
  if (!c->cpu.nonsecure_frames) {
    exc_return |= (c->cpu.nonsecure ? 0 : S) | (is_nonsecure(c, number) ? 0 : ES);
  }
  exc_return |= (extended ? 0 : NO_FP) | (thread ? THREAD : 0);
  if (!across && process) exc_return |= PROCESS;
  if (has_secure_fp(c, control)) retpsr |= RETPSR_SFPA;
  Failure why;
  const uint32_t stored = lazy || twice ? BASIC : size;
  uint8_t *place = frame_at(c, frame, stored, true, !(thread && control & NPRIV), &why);
  const uint32_t limit = frame_limit(c, process);
  stack_watch_frame(c, process, frame, pc);
  fill_frame(c, words, pc, retpsr);
  if (lazy && !twice && frame >= limit) fpu_defer(c, frame + BASIC);
  if (stored > BASIC) fpu_fill(c, words + BASIC / 4, c->cpu.nonsecure);
  // The processor switches to handler mode, hence to the main stack, with the write of xPSR.
  core_set_reg(c, REG_SP, frame);
  core_set_reg(c, REG_XPSR_NZCVQG, kept | (uint32_t)(number & NUMBER));
  core_set_reg(c, REG_CONTROL, control & ~(uint32_t)((across ? 0 : SPSEL) | FPCA | SFPA));
  clear_monitor(c);
  if (frame < limit) {
    place = NULL;
    why = (Failure){fault_own(c, USAGE_FAULT), STKOF};
    core_set_reg(c, process ? REG_PSP : REG_SP, limit);
  }
  if (place) memcpy(place, words, stored);
  if (place && twice) {
    place = NULL;
    why = (Failure){SECURE_FAULT, LSERR};
  }
  if (!place) {
    number = fault_derive(c, number, why, pc);
    if (c->cpu.locked_up) return;
    core_set_reg(c, REG_XPSR_NZCVQG, kept | (uint32_t)(number & NUMBER));
  }
  go_to_handler(c, number, exc_return, false);
  stack_watch_follow(c, false, process ? core_reg(c, REG_SP) : frame);
}

void exception_fault(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address) {
  exception_fault_of(c, fault_own(c, cause), status, pc, address);
}

void exception_fault_of(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address) {
  int number = fault_judge(c, cause, status, pc, address);
  if (number) {
    exception_enter(c, number, pc);
  } else {
    fault_lock_up(c, pc);
  }
}

void exception_supervisor_call(Core *c, uint32_t pc) {
  int cause = fault_own(c, SVCALL), number = fault_escalate(c, cause, priority_now(c));
  if (number == cause) {
    exception_enter(c, number, pc);
    return;
  }
  if (number) c->cpu.shared->hfsr |= HFSR_FORCED;
  fault_report(c, (Fault){cause, number, 0, pc, NULL, false});
  if (number) {
    exception_enter(c, number, pc);
  } else {
    fault_lock_up(c, pc);
  }
}

// return

static void chain(Core *c, int number, uint32_t exc_return) {
  uint32_t xpsr = core_reg(c, REG_XPSR) & ~0x1FFu, control = core_reg(c, REG_CONTROL);
  control &= ~(uint32_t)(FPCA | (c->cpu.nonsecure ? 0 : SFPA));
  core_set_reg(c, REG_CONTROL, control);
  core_set_reg(c, REG_XPSR_NZCVQG, xpsr | (uint32_t)(number & NUMBER));
  go_to_handler(c, number, exc_return, true);
}

// Takes a fault of the return itself by tail-chaining: nothing is stacked.
static void refuse(Core *c, Failure why, uint32_t exc_return) {
  const uint32_t *address = frame_address(c, why);
  int number = fault_judge(c, why.cause, why.status, exc_return & ~1u, address);
  if (number) {
    chain(c, number, exc_return);
  } else {
    fault_lock_up(c, exc_return);
  }
}

static void deactivate(Core *c, int number) {
  if (nvic_has(c->cpu.nvic, ACTIVE, number)) nvic_deactivate(c->cpu.nvic, number);
}

static void refuse_exc_return(Core *c, uint32_t exc_return) {
  deactivate(c, fault_own(c, (int)(core_reg(c, REG_XPSR) & 0x1FF)));
  refuse(c, (Failure){fault_own(c, USAGE_FAULT), INVPC}, exc_return);
}

// Changes to the state whose stack has the frame; returns that stack pointer.
static int stack_of(Core *c, uint32_t exc_return) {
  const uint32_t both = THREAD | PROCESS;
  if (!c->attribution.divided) return (exc_return & both) == both ? REG_PSP : REG_SP;
  if (c->cpu.nonsecure == !!(exc_return & S)) security_change_state(c);
  return exc_return & THREAD && core_reg(c, REG_CONTROL) & SPSEL ? REG_PSP : REG_SP;
}

// Restores r4 to r11; false if this failed, and the fault was taken.
static bool pop_callee_saved(Core *c, int stack, uint32_t exc_return) {
  uint32_t words[CALLEE_SAVED / 4], frame = core_reg(c, stack);
  Failure why;
  const uint8_t *place = frame_at(c, frame, CALLEE_SAVED, false, true, &why);
  if (place) {
    memcpy(words, place, sizeof words);
    if (words[0] != (SIGNATURE | (exc_return & NO_FP) >> 4)) {
      why = (Failure){SECURE_FAULT, INVIS};
      place = NULL;
    }
  }
  if (!place) {
    refuse(c, why, exc_return);
    return false;
  }
  for (int i = 0; i < 8; i++) core_set_reg(c, REG_R0 + 4 + i, words[2 + i]);
  core_set_reg(c, stack, frame + CALLEE_SAVED);
  return true;
}

// Restores the state from the frame of `exc_return`.
static void unstack(Core *c, uint32_t exc_return) {
  const int stack = stack_of(c, exc_return);
  const bool more = exc_return & S && (exc_return & (ES | DCRS)) != (ES | DCRS);
  if (c->attribution.divided && more && !pop_callee_saved(c, stack, exc_return)) return;
  const bool thread = exc_return & THREAD, extended = !(exc_return & NO_FP);
  const uint32_t frame = core_reg(c, stack), size = frame_size(c, extended);
  const uint32_t npriv = core_reg(c, REG_CONTROL) & NPRIV;
  uint32_t words[BASIC / 4];
  Failure why;
  const uint8_t *place = frame_at(c, frame, BASIC, false, !(thread && npriv), &why);
  if (place && frame & 3) {
    why = (Failure){fault_own(c, USAGE_FAULT), INVPC};
    place = NULL;
  }
  if (!place) {
    refuse(c, why, exc_return);
    return;
  }
  memcpy(words, place, BASIC);
  const uint32_t retpsr = words[7];
  if (!(retpsr & 0x1FF) != thread) {
    refuse_exc_return(c, exc_return);
    return;
  }
  if (extended && !fpu_restore(c, frame + BASIC, !(thread && npriv), &why)) {
    refuse(c, why, exc_return);
    return;
  }
  for (int i = 0; i < 6; i++) core_set_reg(c, caller_saved[i], words[i]);
  // Unicorn's SFPA stays set while non-secure code runs.
  const bool secure = !c->cpu.nonsecure && !c->cpu.nonsecure_frames;
  uint32_t sfpa = secure ? (retpsr & RETPSR_SFPA) >> 17 : SFPA;
  core_set_reg(c, stack, (frame + size) | (retpsr >> 7 & 4));
  core_set_reg(c, REG_CONTROL,
               npriv | (stack == REG_PSP ? SPSEL : 0) | (extended ? FPCA : 0) | sfpa);
  core_set_reg(c, REG_PC, words[6] | (retpsr >> 24 & 1));
  core_set_reg(c, REG_XPSR_NZCVQG, retpsr & ~(RETPSR_ALIGNED | RETPSR_SFPA));
  core_refresh_mode(c);
  clear_monitor(c);
  protection_follow(c);
  stack_watch_follow(c, stack == REG_PSP, (frame + size) | (retpsr >> 7 & 4));
  if (thread && c->cpu.nvic->state.scr[c->cpu.nonsecure] & SCR_SLEEPONEXIT &&
      !priority_deliverable(c)) {
    c->cpu.sleeping = SLEEP_WFI;
  }
}

void exception_leave(Core *c, uint32_t exc_return) {
  c->time.exception = core_now(c);
  int number = (int)(core_reg(c, REG_XPSR) & 0x1FF);
  if (c->attribution.divided && c->cpu.nonsecure && (exc_return & ES || !(exc_return & DCRS))) {
    deactivate(c, nvic_is_banked(number) ? number | NONSECURE : number);
    refuse(c, (Failure){SECURE_FAULT, INVER}, exc_return & ~(uint32_t)ES);
    return;
  }
  if (c->attribution.divided && nvic_is_banked(number) && !(exc_return & ES)) number |= NONSECURE;
  if (!nvic_has(c->cpu.nvic, ACTIVE, number) ||
      (exc_return & EXC_RETURN_FIXED) != (EXC_RETURN_PREFIX & EXC_RETURN_FIXED)) {
    refuse_exc_return(c, exc_return);
    return;
  }
  if (number != NMI && core_reg(c, REG_FAULTMASK)) core_set_reg(c, REG_FAULTMASK, 0);
  nvic_deactivate(c->cpu.nvic, number);
  if (c->attribution
          .divided) {  // SPSEL of the exception's own state; the frame may belong to the other one
    uint32_t control = core_reg(c, REG_CONTROL) & ~(uint32_t)SPSEL;
    core_set_reg(c, REG_CONTROL, control | (exc_return & PROCESS ? SPSEL : 0));
  }
  if (core_reg(c, REG_CONTROL) & FPCA && c->cpu.scb[0]->fpccr & FPCCR_CLRONRET) {
    if (c->cpu.scb[0]->fpccr & FPCCR_LSPACT) {
      refuse(c, (Failure){SECURE_FAULT, LSERR}, exc_return);
      return;
    }
    fpu_clear(c, FPU_CALLER_SAVED);
  }
  if (priority_deliverable(c)) {
    chain(c, c->cpu.nvic->best, exc_return);
  } else {
    nvic_resume(c->cpu.nvic);
    unstack(c, exc_return);
  }
}
