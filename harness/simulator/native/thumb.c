// Properties of Thumb instructions that are needed to count them (Armv8-M ARM, C2.2 to C2.4).
#include "thumb.h"

uint32_t thumb_length(uint16_t first) { return (first >> 11) >= 0x1D ? 4 : 2; }

uint32_t thumb_it_state(uint32_t xpsr) { return (xpsr >> 8 & 0xFC) | (xpsr >> 25 & 3); }

// Whether the instruction is outside an IT block, or its condition there holds.
bool thumb_passes(uint32_t xpsr) {
  uint32_t state = thumb_it_state(xpsr), condition = state >> 4;
  bool n = xpsr >> 31 & 1, z = xpsr >> 30 & 1, carry = xpsr >> 29 & 1, v = xpsr >> 28 & 1;
  const bool met[] = {z, carry, n, v, carry && !z, n == v, n == v && !z, true};
  if (!(state & 0xF)) return true;
  return condition == 15 || met[condition >> 1] != (condition & 1);
}

// Whether it is CPSIE f, CPSID f or MSR FAULTMASK, which may switch the MPU on and off.
static bool sets_faultmask(uint16_t first, uint16_t second) {
  if (thumb_length(first) == 2) return (first & 0xFFE9) == 0xB661;
  return (first & 0xFFF0) == 0xF380 && (second & 0xF0FF) == 0x8013;
}

// Whether it is MRS or MSR of a register of the other security state that Unicorn must not run: its
// masks, and for non-secure code all of them, with CONTROL, of which that sees less.
static bool names_other_world(uint16_t first, uint16_t second, bool nonsecure) {
  bool write = (first & 0xFFF0) == 0xF380;
  if ((!write && first != 0xF3EF) || (second & 0xF000) != 0x8000) return false;
  int number = second & 0xFF;
  if (nonsecure) return number >= 0x80 || number == 0x14;
  return write && (number == 0x90 || number == 0x91 || number == 0x93);
}

bool thumb_begins_conditional(uint16_t first) { return (first & 0xFF00) == 0xBF00 && first & 0xF; }

bool thumb_branches_to_itself(uint16_t first, uint16_t second) {
  return first == 0xE7FE || (first == 0xF7FF && second == 0xBFFE);
}

bool thumb_is_floating(uint16_t first, uint16_t second) {
  return (first & 0xEC00) == 0xEC00 && (second & 0x0E00) == 0x0A00 && (first & 0xEF00) != 0xEF00;
}

// Special are instructions that Unicorn lacks, or carries out without this project's system
// registers: YIELD, WFE, WFI, SEV; TT and its variants; SG, BXNS and BLXNS; VLSTM and VLLDM; FP
// while CPACR refuses it. So is a branch to itself, which may be the end.
bool thumb_is_special(uint16_t first, uint16_t second, int context) {
  if (sets_faultmask(first, second) || thumb_branches_to_itself(first, second)) return true;
  if (names_other_world(first, second, context & CONTEXT_NONSECURE)) return true;
  if (thumb_length(first) == 2) {
    if ((first & 0xFF0F) == 0xBF00) return first >= 0xBF10 && first <= 0xBF40;
    return (first & 0xFF07) == 0x4704;
  }
  if (first == 0xF3AF) return second >= 0x8001 && second <= 0x8004;
  if ((first & 0xFFF0) == 0xE840) return (second & 0xF03F) == 0xF000;
  if (first == 0xE97F && second == 0xE97F) return true;
  if ((first & 0xFFE0) == 0xEC20 && second == 0x0A00) return true;
  return context & CONTEXT_NO_FP && thumb_is_floating(first, second);
}

bool thumb_is_barrier_before_sleep(uint16_t first, uint16_t second, uint16_t next) {
  return first == 0xF3BF && (second & 0xFFF0) == 0x8F40 && (next == 0xBF20 || next == 0xBF30);
}

// Returns false only for instructions that never write memory.
bool thumb_may_store(uint16_t first) {
  if (thumb_length(first) == 4) {
    uint16_t group = first & 0xFE00;
    return (group == 0xE800 || group == 0xF800 || group == 0xEC00) && !(first & 0x10);
  }
  switch (first >> 12) {
    case 5:
      return (first & 0x0E00) <= 0x0400;  // STR, STRH, STRB with a register offset
    case 6:
    case 7:
    case 8:
    case 9:
    case 12:
      return !(first & 0x0800);  // STR, STRB, STRH, STR from sp, STM
    case 11:
      return (first & 0x0E00) == 0x0400;  // PUSH
    default:
      return false;
  }
}

// Returns the number of bytes that STR, STRH or STRB without writeback stores; 0 for other
// instructions.
int thumb_plain_store(uint16_t first, uint16_t second) {
  static const int long_sizes[] = {1, 2, 4, 0}, register_sizes[] = {4, 2, 1, 0};
  if (thumb_length(first) == 4) {
    bool offset = first & 0x80 || !(second & 0x0FC0) || (second & 0x0D00) == 0x0C00;
    return (first & 0xFF10) == 0xF800 && offset ? long_sizes[first >> 5 & 3] : 0;
  }
  switch (first >> 11) {
    case 10:
      return register_sizes[first >> 9 & 3];
    case 12:
    case 18:
      return 4;
    case 14:
      return 1;
    case 16:
      return 2;
    default:
      return 0;
  }
}

bool thumb_is_unprivileged(uint16_t first, uint16_t second) {
  return (first & 0xFE80) == 0xF800 && (second & 0x0F00) == 0x0E00;
}

// Returns the state besides the registers that exception entry must handle, once firmware uses it:
// stack limits (MSR to MSPLIM, PSPLIM) and the exclusive monitor (LDREX and its variants).
int thumb_extra_state(uint16_t first, uint16_t second) {
  if ((first & 0xFFF0) == 0xF380 && ((second & 0xFF7E) == 0x880A)) return EXTRA_LIMITS;
  if ((first & 0xFFF0) == 0xE850) return EXTRA_EXCLUSIVE;
  if ((first & 0xFFF0) == 0xE8D0 && (second & 0x0040)) return EXTRA_EXCLUSIVE;
  return 0;
}
