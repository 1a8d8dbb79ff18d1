// A stack that grows beyond its end overwrites what lies below it, and nothing tells. Unicorn
// checks each change of sp against MSPLIM, which is 0 unless firmware sets it. The watch sets it:
// the exception of an instruction that would go below is noted, and the instruction runs with a
// lower limit. Firmware that moves sp to another stack ends the watch.
#include "stack_watch.h"

#include "exception.h"
#include "memory.h"
#include "state.h"
#include "thumb.h"

enum { STEP = 64 };           // bytes by which the limit is lowered
enum { FRAME_BYTES = 0x68 };  // an exception frame, which is stacked without a check
enum { SP = 13 };

// Whether the instruction makes room on the stack: PUSH, STMDB, VPUSH, STR or SUB of sp.
static bool grows(uint16_t first, uint16_t second) {
  if ((first & 0xFE00) == 0xB400 || (first & 0xFF80) == 0xB080) return true;  // PUSH; SUB T1
  if (first == 0xE92D || first == 0xF84D) return true;                        // STMDB; STR
  if ((first & 0xFFBF) == 0xED2D) return true;                                // VPUSH
  const bool to_sp = (second >> 8 & 15) == SP;
  const bool immediate = (first & 0xFBEF) == 0xF1AD || (first & 0xFBFF) == 0xF2AD;
  return to_sp && (immediate || (first & 0xFFEF) == 0xEBAD);  // SUB of a register
}

void stack_watch_start(Core *c, uint32_t begin, uint32_t top) {
  c->stack.begin = begin & ~7u;
  c->stack.top = top;
  if (stack_watch_active(c)) state_set_limits(c, 0, c->stack.begin);
}

bool stack_watch_active(const Core *c) { return c->stack.begin && !(c->cpu.extras & EXTRA_LIMITS); }

bool stack_watch_took(Core *c, uint32_t pc) {
  if (!stack_watch_active(c)) return false;
  uint32_t psplim, limit;
  state_limits(c, &psplim, &limit);
  const Area *area = memory_code(&c->memory, pc);
  const uint32_t sp = core_reg(c, REG_SP);
  // At its end or below it sp is another stack's, unless it went there before.
  const uint32_t least = c->stack.lowest ? limit - FRAME_BYTES : c->stack.begin + 8;
  const bool same = sp >= least && sp <= c->stack.top;
  if (!area || !same || !grows(memory_halfword(area, pc), memory_halfword(area, pc + 2))) {
    state_set_limits(c, 0, 0);
    return true;
  }
  if (!c->stack.lowest) {
    c->stack.pc = pc;
    c->stack.at = core_now(c);
  }
  const uint32_t lower = limit > STEP ? limit - STEP : 0;
  if (!c->stack.lowest || lower < c->stack.lowest) c->stack.lowest = lower;
  state_set_limits(c, 0, lower);
  return true;
}
