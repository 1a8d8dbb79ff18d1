// Accesses that must be aligned, and divisions by zero (Armv8-M ARM, "Alignment behavior", SDIV and
// UDIV; CCR.UNALIGN_TRP, CCR.DIV_0_TRP).
//
// Unicorn loads and stores at any address, and returns 0 for a division by zero. An access whose
// base register is, modulo 4, a sum of the registers at the entry of its block is checked at the
// entry: once for all such accesses, and not again while a block that moves the base by words only
// loops to itself. An address that the block itself loads, and a divisor, are checked by a hook at
// the instruction. Both checks may be wrong for an instruction that is not executed (in an IT
// block), so they are repeated when the core is before it.
//
// BASEPRI keeps only the implemented bits of a priority. A value written to it is known to have no
// others, is that of a register at the entry of the block and checked there, or is checked by a
// hook.
//
// Once CCR.UNALIGN_TRP has been set in either bank, or the MPU has made memory Device memory, a
// hook checks every instruction; once CCR.DIV_0_TRP has been set, hooks check divisions. Unicorn
// walks the list of all hooks for each one that it calls.
#include "alignment.h"

#include <stdlib.h>

#include "emulate.h"
#include "exception.h"
#include "operands.h"
#include "protection.h"
#include "security.h"
#include "thumb.h"

enum { UNALIGN_TRP = 1 << 3, DIV_0_TRP = 1 << 4 };
enum { SP = 13, LR = 14 };
enum { MAX_CHECKS = 1 << 16 };
enum { WORDS_ONLY = 3 };  // bits of an address that is not a multiple of 4

static uint32_t ccr(const Core *c) { return c->cpu.scb[c->cpu.nonsecure]->ccr; }

// Returns a register of r0 to r12, sp and lr.
static uint32_t value_of(Core *c, int number) {
  return core_reg(c, number == SP ? REG_SP : number == LR ? REG_LR : REG_R0 + number);
}

static uint32_t address_now(Core *c, const Address *a) {
  uint32_t index = a->index == NO_REGISTER ? 0 : value_of(c, a->index) << a->shift;
  return value_of(c, a->base) + index + (uint32_t)a->offset;
}

// Returns the bit of CFSR for an instruction with the current registers; 0 if it is not refused.
static uint32_t refusal(Core *c, uint16_t first, uint16_t second) {
  Address a;
  const int divisor = operands_divisor(first, second);
  if (divisor != NO_REGISTER) return ccr(c) & DIV_0_TRP && !value_of(c, divisor) ? DIVBYZERO : 0;
  if (!operands_address(first, second, &a)) return 0;
  const bool trapped = a.always || ccr(c) & UNALIGN_TRP;
  if ((!trapped && !c->mpu.device) || !(address_now(c, &a) & a.mask)) return 0;
  const Mpu *mpu = c->mpu.banks[c->cpu.nonsecure];
  return trapped || mpu_is_device(mpu, address_now(c, &a)) ? UNALIGNED : 0;
}

// Bits of BASEPRI that priorities do not have.
static uint32_t odd_bits(const Core *c) { return 0xFF & ~(uint32_t)c->cpu.nvic->implemented; }

static uint32_t refusal_at(Core *c, uint32_t pc) {
  const Area *area = memory_code(&c->memory, pc);
  return area ? refusal(c, memory_halfword(area, pc), memory_halfword(area, pc + 2)) : 0;
}

// Returns the register that the instruction at `pc` writes to BASEPRI with unimplemented bits.
static int odd_base_priority(Core *c, uint32_t pc) {
  const Area *area = memory_code(&c->memory, pc);
  if (!area) return NO_REGISTER;
  int from = operands_base_priority(memory_halfword(area, pc), memory_halfword(area, pc + 2));
  bool odd = from != NO_REGISTER && value_of(c, from) & odd_bits(c);
  return odd ? from : NO_REGISTER;
}

// hooks

static void look(void *uc, uint64_t address, uint32_t size, void *user) {
  Core *c = user;
  (void)size;
  const uint32_t pc = (uint32_t)address;
  if (c->operands.trusted || c->stop.reason != REASON_NONE) return;
  if (!refusal_at(c, pc) && odd_base_priority(c, pc) == NO_REGISTER) return;
  c->stop.reason = REASON_OPERANDS;
  c->unicorn.api.stop(uc);
}

static void hook(Core *c, uint32_t from, uint32_t to) {
  size_t ignored;
  int error = c->unicorn.api.hook_add(c->unicorn.handle, &ignored, HOOK_CODE, (void *)look, c,
                                      (uint64_t)from, (uint64_t)to);
  if (error) c->machine.failed = true;
}

// Returns whether the hook is new: existing translations do not call it.
static bool hook_at(Core *c, Area *area, uint32_t address) {
  uint32_t halfword = (address - area->base) >> 1;
  uint8_t *bits = &area->hooked[halfword >> 3], bit = (uint8_t)(1u << (halfword & 7));
  if (*bits & bit) return false;
  *bits |= bit;
  hook(c, address, address);
  return true;
}

void alignment_update(Core *c) {
  const uint32_t traps = c->cpu.scb[0]->ccr | c->cpu.scb[1]->ccr;
  const bool everywhere = (traps & UNALIGN_TRP || c->mpu.device) && !c->operands.everywhere;
  const bool divisions = traps & DIV_0_TRP && !c->operands.divisions;
  if (!everywhere && !divisions) return;
  c->operands.everywhere |= everywhere;
  c->operands.divisions |= divisions;
  if (everywhere) hook(c, 1, 0);  // every address
  if (divisions) core_invalidate(c);
  c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TB);
}

// checks on entry

static bool add_check(Core *c, uint32_t sum, uint32_t bits, uint32_t index) {
  if (c->operands.count == MAX_CHECKS) return false;
  if (!c->operands.checks) c->operands.checks = calloc(MAX_CHECKS, sizeof *c->operands.checks);
  if (!c->operands.checks) return false;
  c->operands.checks[c->operands.count++] = (Check){sum, bits, (uint16_t)index, 0, 0};
  return true;
}

static bool is_known(const Check *list, uint32_t count, uint32_t sum, uint32_t bits) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i].sum == sum && list[i].bits == bits) return true;
  }
  return false;
}

// Whether the block keeps the registers of all its checks, modulo 4, or does not write them at all.
static bool keeps(const Residues *r, uint32_t written, const Check *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (int n = 0; n < 15; n++) {
      if (!(list[i].sum >> 2 * n & 3) || n == SP) continue;
      if (list[i].bits != WORDS_ONLY && written >> n & 1) return false;
      if (r->unknown >> n & 1 || r->sums[n] != 1u << 2 * n) return false;
    }
  }
  return true;
}

// Whether the operands may be refused, or changed, independently of CCR.UNALIGN_TRP. `*a` is the
// address; its base is NO_REGISTER if there is none.
static bool may_be_refused(const Core *c, uint16_t first, uint16_t second, Address *a) {
  if (c->operands.divisions && operands_divisor(first, second) != NO_REGISTER) {
    a->base = NO_REGISTER;
    return true;
  }
  return operands_address(first, second, a) && a->always && a->base != SP;
}

static bool has_operands(const Core *c, const Area *area, uint32_t address, uint32_t size) {
  Address a;
  for (uint32_t at = address; at - address < size;) {
    uint16_t first = memory_halfword(area, at), second = memory_halfword(area, at + 2);
    if (may_be_refused(c, first, second, &a)) return true;
    if (operands_base_priority(first, second) != NO_REGISTER) return true;
    at += thumb_length(first);
  }
  return false;
}

static const uint32_t *literal_at(const Area *area, uint32_t address) {
  if (!address || !area->stable || address - area->base > area->size - 4) return NULL;
  return (const uint32_t *)(const void *)(area->host + (address - area->base));
}

void alignment_decode(Core *c, Area *area, Slot *s, uint32_t address, uint32_t size, bool kept) {
  Operands *o = &c->operands;
  const bool same = kept && s->key >> 16 == size && ((s->key ^ c->block.generation) & 0xFFFE) == 0;
  if (same) return;  // only the security state differs
  s->looks &= (uint16_t)~LOOK_OPERANDS;
  if (o->everywhere || !has_operands(c, area, address, size)) return;
  Residues r;
  bool hooked = false;
  uint32_t index = 0;
  o->count = o->kept;
  const uint32_t start = o->count;
  uint32_t written = 0, plain = 0;  // bits: registers written in the block; that may be in BASEPRI
  residues_begin(&r);
  if (core_reg(c, REG_XPSR) & XPSR_IT) r.conditional = 4;
  for (uint32_t at = address; at - address < size; index++) {
    uint16_t first = memory_halfword(area, at), second = memory_halfword(area, at + 2);
    Address a;
    const int priority = operands_base_priority(first, second);
    bool known = true;
    uint32_t sum = 0, bits = WORDS_ONLY;
    if (may_be_refused(c, first, second, &a)) {
      known = a.base != NO_REGISTER && !(r.unknown >> a.base & 1) && a.mask == WORDS_ONLY;
      sum = known ? r.sums[a.base] : 0;
    } else if (priority < 15 && !(plain >> priority & 1)) {
      known = priority != SP && !(written >> priority & 1);
      sum = 1u << 2 * priority;
      bits = odd_bits(c);
    }
    const bool noted = !sum || is_known(o->checks + start, o->count - start, sum, bits);
    if (!known || (!noted && !add_check(c, sum, bits, index))) hooked |= hook_at(c, area, at);
    const bool always = !r.conditional;
    residues_step(&r, first, second, literal_at(area, operands_literal(first, second, at)));
    const int set = operands_byte_without(first, second, odd_bits(c));
    written |= r.written;
    plain &= ~r.written;
    if (always && set < 15) plain |= 1u << set;
    at += thumb_length(first);
  }
  if (o->count > start) {
    o->checks[start].more = (uint16_t)(o->count - start);
    o->checks[start].keeps = keeps(&r, written, o->checks + start, o->count - start);
    area->checks[(address - area->base) >> 1] = (uint16_t)start;
    s->looks |= LOOK_OPERANDS;
  }
  if (kept) o->kept = o->count;
  if (hooked) {
    o->from = address;
    o->until = address + size;
  }
}

uint32_t alignment_suspect(Core *c) {
  const Area *area = c->memory.code;
  if (c->block.address - area->base >= area->size) area = memory_code(&c->memory, c->block.address);
  const Check *list = &c->operands.checks[area->checks[(c->block.address - area->base) >> 1]];
  for (uint32_t i = 0; i < list->more; i++) {
    uint32_t value = list[i].sum >> 30;
    for (uint32_t terms = list[i].sum << 2 >> 2, n = 0; terms; terms >>= 2, n++) {
      if (terms & 3) value += (terms & 3) * value_of(c, (int)n);
    }
    if (value & list[i].bits) return list[i].index;
  }
  if (!list->keeps) c->block.again = 1;
  return c->block.count;
}

// before the instruction

bool alignment_is_refused(Core *c, uint32_t pc) {
  if (!thumb_passes(core_reg(c, REG_XPSR))) return false;
  const uint32_t status = refusal_at(c, pc);
  if (status) exception_fault(c, USAGE_FAULT, status, pc, NULL);
  return status;
}

void alignment_carry_out(Core *c, uint32_t pc) {
  if (alignment_is_refused(c, pc)) return;
  const int from = odd_base_priority(c, pc);
  c->operands.trusted = true;
  if (from == NO_REGISTER) {
    emulate_step(c);
  } else {
    const int id = from == LR ? REG_LR : REG_R0 + from;
    emulate_step_with(c, id, core_reg(c, id) & c->cpu.nvic->implemented);
  }
  c->operands.trusted = false;
}

// Returns the size of the unaligned access at `pc`, and where it begins; 0 for any other one.
static uint32_t unaligned_access(Core *c, const Area *area, uint32_t pc, uint32_t *at) {
  Address a;
  if (!operands_address(memory_halfword(area, pc), memory_halfword(area, pc + 2), &a)) return 0;
  *at = address_now(c, &a);
  return *at & a.mask ? a.mask + 1 : 0;
}

// For an unaligned store to a page in which a region of the MPU ends, Unicorn asks for the start of
// the page, too. That was refused, but none of the store's own bytes is.
bool alignment_stored(Core *c, uint32_t pc) {
  uint32_t at;
  const Area *area = memory_code(&c->memory, pc);
  const uint32_t size = area ? unaligned_access(c, area, pc, &at) : 0;
  const uint32_t refused = c->access.address;
  if (!size || refused % PAGE || refused - at < size) return false;
  const bool as_user =
      thumb_is_unprivileged(memory_halfword(area, pc), memory_halfword(area, pc + 2));
  const bool privileged = security_is_privileged(c) && !as_user;
  for (uint32_t i = 0; i < size; i++) {
    if (!mpu_allows(&c->mpu.wanted, at + i, true, privileged)) return false;
  }
  protection_lift(c);
  emulate_step(c);
  protection_synchronize(c);
  return true;
}
