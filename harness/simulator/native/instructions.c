// Instructions that the core carries out itself: hints, those that set FAULTMASK, and calls and
// returns between the security states with TT (Armv8-M ARM, B3.19, B3.20, C2.4).
//
// Unicorn treats WFE and YIELD as invalid instructions, cannot sleep, and carries out TT for a
// processor with a non-secure side.
#include "instructions.h"

#include <string.h>

#include "attribution.h"
#include "emulate.h"
#include "exception.h"
#include "fault.h"
#include "fpu.h"
#include "frame.h"
#include "idle.h"
#include "priority.h"
#include "protection.h"
#include "security.h"
#include "state.h"
#include "thumb.h"

enum { SPECIAL_FAULTMASK = 0x13, SPECIAL_CONTROL = 0x14, SPECIAL_BASEPRI_NS = 0x91 };
enum { YIELD = 1, WFE, WFI, SEV };
#define FNC_RETURN 0xFEFFFFFFu  // lr after BLXNS; a branch to it, or to one less, returns
#define GATEWAY 0xE97F          // both halfwords of SG
// The result of TT: number of the MPU's region (MRVALID), R, RW, NSR, NSRW, S, IDAU's region.
#define TT_MRVALID 0x00010000u
#define TT_READ 0x00040000u
#define TT_WRITE 0x00080000u
#define TT_SECURE 0x00400000u
#define TT_IRVALID 0x00800000u

typedef struct {
  uint32_t pc, xpsr;
  uint16_t first, second, next;  // next: the halfword behind both
} Instruction;

static int reg_id(unsigned number) {
  static const int last[] = {REG_SP, REG_LR, REG_PC};
  return number < 13 ? REG_R0 + (int)number : last[number - 13];
}

// Returns ITSTATE advanced by one instruction, as bits of EPSR (Armv8-M ARM, ITAdvance).
static uint32_t next_it(uint32_t xpsr) {
  uint32_t state = thumb_it_state(xpsr);
  state = state & 7 ? (state & 0xE0) | (state << 1 & 0x1F) : 0;
  return (state & 0xFC) << 8 | (state & 3) << 25;
}

static void advance(Core *c, const Instruction *i) {
  core_retire(c, i->pc);
  if (i->xpsr & XPSR_IT) core_set_reg(c, REG_EPSR, XPSR_THUMB | next_it(i->xpsr));
  core_set_reg(c, REG_PC, (i->pc + thumb_length(i->first)) | 1);
}

// hints

static int hint_of(uint16_t first, uint16_t second) {
  if (first >= 0xBF10 && first <= 0xBF40 && !(first & 0xF)) return first >> 4 & 0xF;
  return first == 0xF3AF && second >= 0x8001 && second <= 0x8004 ? second & 0xF : 0;
}

// Whether WFI sleeps: not if a wake-up event is pending (Armv8-M ARM, "Wait For Interrupt").
static bool falls_asleep(Core *c) {
  c->cpu.sleeping = SLEEP_WFI;
  const bool sleeps = !priority_wakes(c);
  c->cpu.sleeping = 0;
  return sleeps;
}

static void do_hint(Core *c, const Instruction *i, int hint) {
  bool *event = &c->cpu.nvic->state.event;
  const bool sleeps = hint == WFI && falls_asleep(c);
  if ((hint == YIELD || hint == WFI) && !sleeps && !(i->xpsr & XPSR_IT)) {
    idle_hint(c, i->pc, hint == WFI);
    if (c->idle.stands) return;
  } else {
    idle_forget_hint(c);
  }
  advance(c, i);
  if (hint == SEV) *event = true;
  if (sleeps) c->cpu.sleeping = SLEEP_WFI;
  if (hint != WFE) return;
  if (!*event) c->cpu.sleeping = SLEEP_WFE;
  *event = false;
}

// special registers

// Carries out MRS and MSR of non-secure code: no registers with _NS names, CONTROL without SFPA.
static void nonsecure_register(Core *c, const Instruction *i) {
  uint32_t control = core_reg(c, REG_CONTROL);
  bool is_control = (i->second & 0xFF) == SPECIAL_CONTROL;
  if (i->first == 0xF3EF) {
    core_set_reg(c, reg_id(i->second >> 8 & 0xF), is_control ? control & ~(uint32_t)SFPA : 0);
  } else if (is_control) {
    // Unicorn ignores what unprivileged code may not write.
    core_set_reg(c, REG_CONTROL, (core_reg(c, reg_id(i->first & 0xF)) & 7) | SFPA);
  }
}

static void special_register(Core *c, const Instruction *i) {
  bool change = (i->first & 0xFF00) == 0xB600;  // CPS
  if (c->cpu.nonsecure && !change && (i->second & 0xFF) != SPECIAL_FAULTMASK) {
    advance(c, i);
    nonsecure_register(c, i);
    return;
  }
  if (i->first >> 4 == 0xF38 && (i->second & 0xFF) == SPECIAL_BASEPRI_NS) {
    const int id = reg_id(i->first & 0xF);
    emulate_step_with(c, id, core_reg(c, id) & c->cpu.nvic->implemented);
  } else {
    emulate_step(c);
  }
  priority_update_masks(c);
  protection_synchronize(c);
}

// branches between the security states

static void enter_gateway(Core *c, const Instruction *i) {
  bool enters = c->cpu.nonsecure && attribution_is_secure(c, i->pc);
  advance(c, i);
  if (!enters) return;
  core_set_reg(c, REG_LR, core_reg(c, REG_LR) & ~1u);
  security_change_state(c);
  core_set_reg(c, REG_EPSR, XPSR_THUMB);
}

// Pushes return address and exception number on the secure stack; false for a fault.
static bool push_return(Core *c, uint32_t pc) {
  uint32_t xpsr = core_reg(c, REG_XPSR), control = core_reg(c, REG_CONTROL);
  const uint32_t frame = core_reg(c, REG_SP) - 8;
  Failure why;
  if (frame < frame_limit(c, !(xpsr & 0x1FF) && control & SPSEL)) {
    exception_fault(c, USAGE_FAULT, STKOF, pc, NULL);
    return false;
  }
  uint8_t *place = frame_at(c, frame, 8, true, security_is_privileged(c), &why);
  if (!place) {
    why = frame_failure_of_data(why);
    exception_fault(c, why.cause, why.status, pc, &frame);
    return false;
  }
  const uint32_t words[2] = {(pc + 2) | 1, (xpsr & 0x1FF) | (control & SFPA) << 17};
  memcpy(place, words, sizeof words);
  core_set_reg(c, REG_SP, frame);
  return true;
}

void instruction_function_return(Core *c) {
  const uint32_t pc = FNC_RETURN & ~1u;
  if (!c->cpu.nonsecure) {
    exception_fault(c, MEM_MANAGE, IACCVIOL, pc, NULL);
    return;
  }
  uint32_t running = core_reg(c, REG_XPSR) & 0x1FF, words[2];
  security_change_state(c);
  const uint32_t sp = core_reg(c, REG_SP);
  Failure why;
  const uint8_t *place = frame_at(c, sp, 8, false, security_is_privileged(c), &why);
  if (!place) {
    exception_fault(c, why.cause, why.status, pc, NULL);
    return;
  }
  memcpy(words, place, sizeof words);
  const uint32_t called_by = words[1] & 0x1FF;
  if (!running != !called_by || running > 1) {
    exception_fault(c, USAGE_FAULT, INVPC, pc, NULL);
    return;
  }
  core_set_reg(c, REG_SP, sp + 8);
  if (running) {
    uint32_t xpsr = core_reg(c, REG_XPSR) & ~(0x1FFu | XPSR_IT);
    core_set_reg(c, REG_XPSR_NZCVQG, xpsr | called_by);
  }
  uint32_t control = core_reg(c, REG_CONTROL) & ~(uint32_t)SFPA;
  core_set_reg(c, REG_CONTROL, control | (words[1] >> 17 & SFPA));
  core_set_reg(c, REG_PC, words[0]);
}

// Carries out BXWritePC for an instruction that has been counted.
static void go_to(Core *c, uint32_t target) {
  if ((target | 1) == FNC_RETURN) {
    instruction_function_return(c);
  } else if (target >= 0xFF000000 && core_reg(c, REG_XPSR) & 0x1FF) {
    exception_leave(c, target);
  } else {
    core_set_reg(c, REG_PC, target);
  }
}

// Carries out BXNS and BLXNS, which are undefined in the non-secure state.
static void branch(Core *c, const Instruction *i) {
  const bool link = i->first & 0x80;
  const uint32_t target = core_reg(c, reg_id(i->first >> 3 & 0xF));
  if (c->cpu.nonsecure) {
    exception_fault(c, USAGE_FAULT, UNDEFINSTR, i->pc, NULL);
    return;
  }
  if (link && !(target & 1) && !push_return(c, i->pc)) return;
  core_retire(c, i->pc);
  if (link) core_set_reg(c, REG_LR, target & 1 ? (i->pc + 2) | 1 : FNC_RETURN);
  const uint32_t xpsr = core_reg(c, REG_XPSR);
  if (xpsr & XPSR_IT) core_set_reg(c, REG_EPSR, XPSR_THUMB);
  if (!(target & 1)) {
    if (link && xpsr & 0x1FF) {
      core_set_reg(c, REG_XPSR_NZCVQG, (xpsr & ~(0x1FFu | XPSR_IT)) | 1);
    }
    security_change_state(c);
  }
  go_to(c, target | 1);
}

void instruction_magic_branch(Core *c, uint32_t target) {
  if ((target & ~1u) == (FNC_RETURN & ~1u) && c->attribution.divided) {
    instruction_function_return(c);
  } else {
    exception_leave(c, target);
  }
}

// FP state of the secure caller

// Carries out VLSTM and VLLDM: the secure FP context is stored or deferred, or loaded.
static void lazy_fp(Core *c, const Instruction *i) {
  const bool load = i->first & 0x10;
  const uint32_t control = core_reg(c, REG_CONTROL);
  const uint32_t address = core_reg(c, reg_id(i->first & 0xF));
  const bool kept = load && c->cpu.scb[0]->fpccr & FPCCR_LSPACT;
  Failure why = {0, 0};
  if (c->cpu.nonsecure) {
    exception_fault(c, USAGE_FAULT, UNDEFINSTR, i->pc, NULL);
    return;
  }
  if (!(control & SFPA) || c->cpu.fp_disabled) {
    advance(c, i);  // there is no secure FP context
    return;
  }
  if (!load && c->cpu.fp_lazy) {
    exception_fault(c, SECURE_FAULT, LSERR, i->pc, NULL);
    return;
  }
  if (address & 7 && !kept) {
    exception_fault(c, USAGE_FAULT, UNALIGNED, i->pc, NULL);
    return;
  }
  const bool privileged = security_is_privileged(c);
  if (!load && c->cpu.scb[0]->fpccr & FPCCR_LSPEN) {
    fpu_defer(c, address);
  } else if (!(load ? fpu_restore : fpu_store)(c, address, privileged, &why)) {
    why = frame_failure_of_data(why);
    exception_fault(c, why.cause, why.status, i->pc, &address);
    return;
  }
  core_set_reg(c, REG_CONTROL, load ? control | FPCA : control & ~(uint32_t)FPCA);
  advance(c, i);
}

// test target

// Returns an MPU's part of the result of TT.
static uint32_t test_mpu(const Mpu *mpu, uint32_t address, bool privileged) {
  const Regions *regions = &mpu->state.regions;
  if (!(regions->ctrl & MPU_ENABLE)) return TT_READ | TT_WRITE;
  uint32_t answer = mpu_allows(regions, address, false, privileged) ? TT_READ : 0;
  if (mpu_allows(regions, address, true, privileged)) answer |= TT_WRITE;
  int region = mpu_region_at(regions, address);
  return region < 0 ? answer : answer | TT_MRVALID | (uint32_t)region;
}

static bool other_is_privileged(Core *c) {
  uint32_t values[4];
  if (core_reg(c, REG_XPSR) & 0x1FF) return true;
  state_other(c, values);
  return !(values[3] & NPRIV);
}

// Carries out TT, TTT, TTA, TTAT: Rd in bits 11..8, A and T in bits 7 and 6.
static void test_target(Core *c, const Instruction *i) {
  const bool alternate = i->second & 0x80, unprivileged = i->second & 0x40;
  const uint32_t address = core_reg(c, reg_id(i->first & 0xF));
  uint32_t answer = 0;
  if (alternate && c->cpu.nonsecure) {
    exception_fault(c, USAGE_FAULT, UNDEFINSTR, i->pc, NULL);
    return;
  }
  bool privileged = alternate ? other_is_privileged(c) : security_is_privileged(c);
  if (security_is_privileged(c)) {
    answer =
        test_mpu(c->mpu.banks[alternate || c->cpu.nonsecure], address, privileged && !unprivileged);
  }
  if (!c->cpu.nonsecure) {
    int region = attribution_region(c, address);
    if (attribution_is_secure(c, address)) {
      answer |= TT_SECURE;
    } else {
      answer |= (answer & (TT_READ | TT_WRITE)) << 2;  // NSR, NSRW
    }
    if (region >= 0) answer |= TT_IRVALID | (uint32_t)region << 24;
  }
  core_set_reg(c, reg_id(i->second >> 8 & 0xF), answer);
  advance(c, i);
}

// all of them

static bool fetch(const Core *c, uint32_t pc, Instruction *i) {
  const Area *area = memory_holding(&c->memory, pc, 2);
  if (!area) return false;
  i->pc = pc;
  i->first = memory_halfword(area, pc);
  i->second = memory_halfword(area, pc + 2);
  i->next = memory_halfword(area, pc + 4);
  return true;
}

bool instruction_is_refused(Core *c, uint32_t pc) {
  Instruction i = {0};
  if (!c->attribution.restricted) return false;
  fetch(c, pc, &i);
  const bool secure = attribution_is_secure(c, pc);
  if (c->cpu.nonsecure && secure) {
    bool gate = i.first == GATEWAY && i.second == GATEWAY;
    if (attribution_is_callable(c, pc) && gate) return false;
    exception_fault(c, SECURE_FAULT, INVEP, pc, NULL);
  } else if (!c->cpu.nonsecure && !secure) {
    exception_fault(c, SECURE_FAULT, INVTRAN, pc, NULL);
  } else if (attribution_refuses(c, pc, PERM_EXECUTE)) {
    exception_fault(c, BUS_FAULT, IBUSERR, pc, NULL);
  } else {
    return false;
  }
  return true;
}

static void carry_out(Core *c, const Instruction *i) {
  const uint16_t first = i->first, second = i->second;
  const int hint = hint_of(first, second);
  if (!hint) idle_forget_hint(c);
  if ((first & 0xFF00) == 0xB600 || (first & 0xFFF0) == 0xF380 || first == 0xF3EF) {
    special_register(c, i);
  } else if (thumb_branches_to_itself(first, second)) {
    idle_branch(c, i->pc);
  } else if (hint) {
    do_hint(c, i, hint);
  } else if ((first & 0xFFF0) == 0xE840) {
    test_target(c, i);
  } else if (first == GATEWAY && second == GATEWAY) {
    enter_gateway(c, i);
  } else if ((first & 0xFF07) == 0x4704) {
    branch(c, i);
  } else if ((first & 0xFFE0) == 0xEC20 && second == 0x0A00) {
    lazy_fp(c, i);
  } else {
    // NSACR is checked after CPACR, and its fault is one of the secure state.
    bool denied = c->cpu.nonsecure && security_cpacr_allows(c, true);
    exception_fault_of(c, denied ? USAGE_FAULT : fault_own(c, USAGE_FAULT), NOCP, i->pc, NULL);
  }
}

void instruction_carry_out(Core *c, uint32_t pc) {
  Instruction i = {0};
  if (!fetch(c, pc, &i)) return;
  const bool special = thumb_is_special(i.first, i.second, security_context(c));
  const bool barrier = thumb_is_barrier_before_sleep(i.first, i.second, i.next);
  if (!special && !barrier && !(c->cpu.fp_lazy && thumb_is_floating(i.first, i.second))) return;
  i.xpsr = core_reg(c, REG_XPSR);
  if (barrier) {
    idle_instruction(c, pc);
    advance(c, &i);
  } else if (thumb_passes(i.xpsr)) {
    if (special) {
      carry_out(c, &i);
    } else {
      fpu_preserve(c, pc);
    }
  } else {
    idle_forget_hint(c);
    advance(c, &i);
  }
}
