// Operands of Thumb instructions (Armv8-M ARM, C2.2 to C2.4).
#include "operands.h"

#include <string.h>

#include "thumb.h"

enum { SP = 13, PC = 15 };
#define CONSTANT 30

static uint32_t bits(uint32_t value, int from, int count) {
  return value >> from & ((1u << count) - 1);
}

// addresses

static void set(Address *a, int base, uint32_t bytes, bool always) {
  *a = (Address){.base = base, .index = NO_REGISTER, .mask = bytes - 1, .always = always};
}

static bool short_address(uint16_t first, Address *a) {
  static const uint8_t register_bytes[] = {4, 2, 1, 1, 4, 2, 1, 2};
  const int group = first >> 11;
  if (first >> 12 == 5) {  // [Rn, Rm]
    set(a, (int)bits(first, 3, 3), register_bytes[bits(first, 9, 3)], false);
    a->index = (int)bits(first, 6, 3);
    return a->mask;
  }
  switch (group) {
    case 12:
    case 13:  // STR, LDR [Rn, #imm5 * 4]
      set(a, (int)bits(first, 3, 3), 4, false);
      return true;
    case 16:
    case 17:  // STRH, LDRH [Rn, #imm5 * 2]
      set(a, (int)bits(first, 3, 3), 2, false);
      return true;
    case 24:
    case 25:  // STM, LDM
      set(a, (int)bits(first, 8, 3), 4, true);
      return true;
    default:
      return false;  // relative to sp or pc, or no access
  }
}

// Decodes LDRD and STRD, exclusive accesses, load-acquire and store-release.
static bool dual_or_exclusive(uint16_t first, uint16_t second, Address *a) {
  const int base = first & 0xF, operation = (int)bits(second, 4, 4);
  if (first & 0x0120) {
    set(a, base, 4, true);
    return true;
  }
  if (!(first & 0x80)) {
    bool test_target = !(first & 0x10) && (second & 0xF03F) == 0xF000;
    set(a, base, 4, true);
    a->offset = (int32_t)(second & 0xFF) * 4;
    return !test_target;
  }
  if (operation < 4) return false;  // TBB, TBH
  set(a, base, 1u << (operation & 3), true);
  return a->mask;
}

static bool single(uint16_t first, uint16_t second, Address *a) {
  const int base = first & 0xF;
  set(a, base, 1u << bits(first, 5, 2), false);
  if (first & 0x80) {
    a->offset = second & 0xFFF;
  } else if (!(second & 0x0FC0)) {
    a->index = second & 0xF;
    a->shift = (int)bits(second, 4, 2);
  } else if (second & 0x400) {  // otherwise the offset is added afterwards
    a->offset = second & 0x200 ? second & 0xFF : -(int32_t)(second & 0xFF);
  }
  bool hint = second >> 12 == PC && (first & 0x70) != 0x50;  // PLDW; LDR pc is a load
  return a->mask && (first & 0x60) != 0x60 && !hint;
}

bool operands_address(uint16_t first, uint16_t second, Address *a) {
  bool is_access = false;
  if (thumb_length(first) == 2) {
    is_access = short_address(first, a);
  } else if ((first & 0xFE40) == 0xE840) {
    is_access = dual_or_exclusive(first, second, a);
  } else if ((first & 0xFE40) == 0xE800) {
    set(a, first & 0xF, 4, true);  // LDM, STM
    is_access = true;
  } else if ((first & 0xFE00) == 0xEC00 && (second & 0x0E00) == 0x0A00) {
    set(a, first & 0xF, 4, true);  // VLDR, VSTR, VLDM, VSTM; not VMOV of two registers
    is_access = first & 0x01A0;
  } else if ((first & 0xFE00) == 0xF800) {
    is_access = single(first, second, a);
  }
  return is_access && a->base != PC;
}

int operands_divisor(uint16_t first, uint16_t second) {
  bool divides = (first & 0xFFD0) == 0xFB90 && (second & 0x00F0) == 0x00F0;
  return divides ? second & 0xF : NO_REGISTER;
}

int operands_base_priority(uint16_t first, uint16_t second) {
  bool writes = (first & 0xFFF0) == 0xF380 && (second & 0xFF7F) >= 0x8811;
  return writes && (second & 0xFF7F) <= 0x8812 ? first & 0xF : NO_REGISTER;
}

int operands_byte_without(uint16_t first, uint16_t second, uint32_t bits) {
  if (first >> 11 == 4) return first & 0xFF & bits ? NO_REGISTER : first >> 8 & 7;
  if (first != 0xF04F || second & 0xF000) return NO_REGISTER;
  return second & 0xFF & bits ? NO_REGISTER : second >> 8 & 0xF;
}

uint32_t operands_literal(uint16_t first, uint16_t second, uint32_t pc) {
  const uint32_t here = (pc + 4) & ~3u;
  if (first >> 11 == 9) return here + (first & 0xFF) * 4u;
  if ((first & 0xFF7F) == 0xF85F) {
    return first & 0x80 ? here + (second & 0xFFF) : here - (second & 0xFFF);
  }
  return 0;
}

// values modulo 4: each field of a sum has two bits

static uint32_t add(uint32_t a, uint32_t b) { return a ^ b ^ (a & b & 0x55555555u) << 1; }

static uint32_t negate(uint32_t a) { return a ^ (a & 0x55555555u) << 1; }

static uint32_t shifted(uint32_t a, uint32_t left) {
  return left == 0 ? a : left == 1 ? (a & 0x55555555u) << 1 : 0;
}

static uint32_t constant(uint32_t value) { return (value & 3) << CONSTANT; }

void residues_begin(Residues *r) {
  for (int n = 0; n < 15; n++) r->sums[n] = 1u << 2 * n;
  r->sums[SP] = 0;  // always a multiple of 4
  r->unknown = r->written = 0;
  r->conditional = 0;
}

static void forget(Residues *r, uint32_t registers) {
  r->written |= registers & 0x7FFF;
  r->unknown |= registers & 0x7FFF & ~(1u << SP);
}

// Assigns a value to Rd, which is unknown if one of the `sources` is.
static void assign(Residues *r, int d, uint32_t sources, uint32_t value) {
  if (d >= SP && d != 14) return;
  r->written |= 1u << d;
  if (r->unknown & sources || (r->conditional && r->sums[d] != value)) {
    forget(r, 1u << d);
    return;
  }
  r->sums[d] = value;
  if (!r->conditional) r->unknown &= ~(1u << d);
}

static uint32_t value_of(const Residues *r, int n) { return n < 15 ? r->sums[n] : 0; }

static void short_data(Residues *r, uint16_t first) {
  const int d = (int)bits(first, 0, 3), n = (int)bits(first, 3, 3), m = (int)bits(first, 6, 3);
  const int dn = (int)bits(first, 8, 3);
  const uint32_t small = constant(bits(first, 6, 3)), large = constant(first & 0xFF);
  switch (first >> 11) {
    case 0:  // LSL
      assign(r, d, 1u << n, shifted(r->sums[n], bits(first, 6, 5)));
      return;
    case 3:
      if (first & 0x400) {
        assign(r, d, 1u << n, add(r->sums[n], first & 0x200 ? negate(small) : small));
      } else {
        uint32_t other = r->sums[m];
        assign(r, d, 1u << n | 1u << m, add(r->sums[n], first & 0x200 ? negate(other) : other));
      }
      return;
    case 4:  // MOV
      assign(r, dn, 0, large);
      return;
    case 5:  // CMP
      return;
    case 6:
    case 7:  // ADD, SUB
      assign(r, dn, 1u << dn, add(r->sums[dn], first & 0x800 ? negate(large) : large));
      return;
    default:  // LSR, ASR
      forget(r, 1u << d);
  }
}

static void short_registers(Residues *r, uint16_t first) {
  const int d = (int)(bits(first, 0, 3) | bits(first, 7, 1) << 3), m = (int)bits(first, 3, 4);
  const uint32_t operation = bits(first, 6, 4);
  if (first & 0x400) {  // ADD, CMP, MOV of any register; BX
    uint32_t kind = bits(first, 8, 2);
    if (kind == 0) assign(r, d, (1u << d | 1u << m) & 0x7FFF, add(value_of(r, d), value_of(r, m)));
    if (kind == 2) assign(r, d, 1u << m & 0x7FFF, value_of(r, m));
    if (m == PC && kind != 3) forget(r, 1u << d);
  } else if (operation == 9) {  // RSB
    assign(r, d & 7, 1u << (m & 7), negate(r->sums[m & 7]));
  } else if (operation != 8 && operation != 10 && operation != 11) {  // TST, CMP, CMN
    forget(r, 1u << (d & 7));
  }
}

static void miscellaneous(Residues *r, uint16_t first) {
  if ((first & 0xFF00) == 0xBF00) {
    for (uint32_t mask = first & 0xF; mask; mask = mask << 1 & 0xF) r->conditional++;
    if (first & 0xF) r->conditional++;      // this instruction is counted off, too
  } else if ((first & 0xFE00) == 0xBC00) {  // POP
    forget(r, first & 0xFF);
  } else if ((first & 0xFF00) == 0xB200 || (first & 0xFF00) == 0xBA00) {  // SXTH, REV, ...
    forget(r, 1u << (first & 7));
  }
}

static void short_step(Residues *r, uint16_t first, const uint32_t *literal) {
  const int low = (int)bits(first, 0, 3), high = (int)bits(first, 8, 3);
  switch (first >> 12) {
    case 0:
    case 1:
    case 2:
    case 3:
      short_data(r, first);
      return;
    case 4:
      if (first >> 11 == 8) {
        short_registers(r, first);
      } else if (literal) {
        assign(r, high, 0, constant(*literal));
      } else {
        forget(r, 1u << high);
      }
      return;
    case 5:
      if (bits(first, 9, 3) > 2) forget(r, 1u << low);
      return;
    case 6:
    case 7:
    case 8:
      if (first & 0x800) forget(r, 1u << low);
      return;
    case 9:
      if (first & 0x800) forget(r, 1u << high);
      return;
    case 10:  // ADR, ADD from sp
      assign(r, high, 0, 0);
      return;
    case 11:
      miscellaneous(r, first);
      return;
    case 12:  // STM, LDM: the base moves by words
      r->written |= 1u << high;
      if (first & 0x800) forget(r, first & 0xFF);
      return;
    default:
      return;  // branches end a block
  }
}

static uint32_t immediate(uint16_t first, uint16_t second) {
  return bits(first, 10, 1) << 11 | bits(second, 12, 3) << 8 | (second & 0xFF);
}

// Returns ThumbExpandImm, modulo 4.
static uint32_t expanded(uint32_t imm12) {
  uint32_t byte = imm12 & 0xFF, turn = imm12 >> 7;
  if (imm12 >> 10) {
    uint32_t value = 0x80 | (byte & 0x7F);
    return turn < 32 ? (value >> turn | value << (32 - turn)) & 3 : value & 3;
  }
  return imm12 >> 8 == 2 ? 0 : byte & 3;
}

enum { AND = 0, BIC = 1, ORR = 2, ADD = 8, SUB = 13, RSB = 14 };

// Computes Rd = Rn op `other`, a second operand from `sources`.
static void compute(Residues *r, uint32_t operation, int d, int n, uint32_t sources,
                    uint32_t other) {
  const uint32_t from = sources | (n < 15 ? 1u << n : 0), rn = value_of(r, n);
  if (d == PC) return;  // a comparison
  if (operation == ORR && n == PC) {
    assign(r, d, sources, other);
  } else if (n == PC) {
    forget(r, 1u << d);
  } else if (operation == ADD) {
    assign(r, d, from, add(rn, other));
  } else if (operation == SUB) {
    assign(r, d, from, add(rn, negate(other)));
  } else if (operation == RSB) {
    assign(r, d, from, add(other, negate(rn)));
  } else {
    forget(r, 1u << d);
  }
}

static void modified_immediate(Residues *r, uint16_t first, uint16_t second) {
  const uint32_t operation = bits(first, 5, 4), low = expanded(immediate(first, second));
  const int d = (int)bits(second, 8, 4), n = first & 0xF;
  const uint32_t cleared = operation == BIC ? low : operation == AND ? ~low & 3 : 1;
  if ((operation == BIC || operation == AND) && d != PC && n != PC && cleared == 3) {
    assign(r, d, 0, 0);
  } else if ((operation == BIC || operation == AND) && d != PC && n != PC && cleared == 0) {
    assign(r, d, 1u << n, value_of(r, n));
  } else {
    compute(r, operation, d, n, 0, constant(low));
  }
}

static void plain_immediate(Residues *r, uint16_t first, uint16_t second) {
  const int d = (int)bits(second, 8, 4), n = first & 0xF;
  const uint32_t value = constant(immediate(first, second));
  const uint32_t from = n < 15 ? 1u << n : 0;
  switch (bits(first, 4, 5)) {
    case 0:  // ADD, ADR
      assign(r, d, from, add(value_of(r, n), value));
      return;
    case 10:  // SUB, ADR
      assign(r, d, from, add(value_of(r, n), negate(value)));
      return;
    case 4:  // MOVW
      assign(r, d, 0, value);
      return;
    case 12:  // MOVT
      r->written |= 1u << d;
      return;
    default:
      forget(r, d < 15 ? 1u << d : 0);
  }
}

static void shifted_register(Residues *r, uint16_t first, uint16_t second) {
  const int m = second & 0xF;
  const uint32_t left = bits(second, 12, 3) << 2 | bits(second, 6, 2);
  const bool known = m != PC && bits(second, 4, 2) == 0;
  const int d = (int)bits(second, 8, 4);
  if (known) {
    compute(r, bits(first, 5, 4), d, first & 0xF, 1u << m, shifted(value_of(r, m), left));
  } else if (d != PC) {
    forget(r, 1u << d);
  }
}

static void long_single(Residues *r, uint16_t first, uint16_t second, const uint32_t *literal) {
  const int n = first & 0xF, t = second >> 12;
  if (!(first & 0x80) && (second & 0x900) == 0x900 && n < 15) {  // the base is written back
    uint32_t moved = constant(second & 0xFF);
    assign(r, n, 1u << n, add(value_of(r, n), second & 0x200 ? moved : negate(moved)));
  }
  if (!(first & 0x10) || t == PC) return;
  if (literal && (first & 0xFF7F) == 0xF85F) {
    assign(r, t, 0, constant(*literal));
  } else {
    forget(r, 1u << t);
  }
}

static void long_step(Residues *r, uint16_t first, uint16_t second, const uint32_t *literal) {
  const uint32_t t = 1u << (second >> 12), d = 1u << bits(second, 8, 4);
  if ((first & 0xFE40) == 0xE800) {
    r->written |= 1u << (first & 0xF);
    if (first & 0x10) forget(r, second);  // LDM; the base moves by words
  } else if ((first & 0xFE40) == 0xE840) {
    r->written |= 1u << (first & 0xF);
    bool dual = first & 0x0120;
    if (first & 0x10 || !dual) forget(r, t | d);
    if (!dual) forget(r, 1u << (second & 0xF));  // the status of STREX
  } else if ((first & 0xFE00) == 0xEA00) {
    shifted_register(r, first, second);
  } else if ((first & 0xEC00) == 0xEC00) {  // coprocessors and FP
    r->written |= 1u << (first & 0xF);      // a base moves by words
    if ((first & 0xFFE0) == 0xEC40) forget(r, t | 1u << (first & 0xF));
    if ((first & 0xFF00) == 0xEE00 && second & 0x10) forget(r, t);
  } else if ((first & 0xF800) == 0xF000) {
    if (second & 0x8000) {
      if ((first & 0xFFE0) == 0xF3E0) forget(r, d);  // MRS; a branch ends the block
    } else if (first & 0x200) {
      plain_immediate(r, first, second);
    } else {
      modified_immediate(r, first, second);
    }
  } else if ((first & 0xFE00) == 0xF800) {
    long_single(r, first, second, literal);
  } else if ((first & 0xFE00) == 0xFA00) {
    forget(r, (first & 0xFF80) == 0xFB80 ? d | t : d);  // long products write two registers
  } else {
    forget(r, 0x7FFF);
  }
}

void residues_step(Residues *r, uint16_t first, uint16_t second, const uint32_t *literal) {
  r->written = 0;
  if (thumb_length(first) == 2) {
    short_step(r, first, literal);
  } else {
    long_step(r, first, second, literal);
  }
  if (r->conditional) r->conditional--;
}
