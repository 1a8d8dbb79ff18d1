// A stack that grows beyond its end overwrites what lies below it, and nothing tells. Unicorn
// checks each change of sp against MSPLIM and PSPLIM, which are 0 unless firmware sets them. The
// watch sets them: the exception of an instruction that would go below is noted, and the
// instruction runs with a lower limit.
//
// A stack is the variable, or the main stack's memory, that contains the stack pointer. It is
// looked up when the pointer is used first, after exceptions, and where it is below its limit.
#include "stack_watch.h"

#include <stdlib.h>
#include <string.h>

#include "exception.h"
#include "memory.h"
#include "state.h"
#include "thumb.h"

enum { STEP = 4 };  // bytes by which the limit is lowered
enum { SP = 13 };
#define NOT_FOUND_YET 0xFFFFFFF8u  // a limit that each use of the stack is below

// Whether the instruction makes room on the stack: PUSH, STMDB, VPUSH, STR or SUB of sp.
static bool grows(uint16_t first, uint16_t second) {
  if ((first & 0xFE00) == 0xB400 || (first & 0xFF80) == 0xB080) return true;  // PUSH; SUB T1
  if (first == 0xE92D || first == 0xF84D) return true;                        // STMDB; STR
  if ((first & 0xFFBF) == 0xED2D) return true;                                // VPUSH
  const bool to_sp = (second >> 8 & 15) == SP;
  const bool immediate = (first & 0xFBEF) == 0xF1AD || (first & 0xFBFF) == 0xF2AD;
  return to_sp && (immediate || (first & 0xFFEF) == 0xEBAD);  // SUB of a register
}

static bool contains(StackRange range, uint32_t sp) { return sp > range.begin && sp <= range.top; }

// The stack with this pointer; its end counts, as stacks grow down.
static StackRange stack_with(const StackWatch *watch, uint32_t sp) {
  int low = 0, high = watch->count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (watch->known[middle].begin < sp) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const StackRange none = {0, 0};
  return low && contains(watch->known[low - 1], sp) ? watch->known[low - 1] : none;
}

static void set_limit(Core *c, bool process, uint32_t limit) {
  c->stack.limits[process] = limit;
  state_set_limits(c, c->stack.limits[1], c->stack.limits[0]);
}

static bool ran_over(const StackWatch *watch, StackRange stack) {
  return watch->lowest && stack.begin == watch->over.begin;
}

void stack_watch_look_up(Core *c, bool process, uint32_t sp) {
  StackWatch *watch = &c->stack;
  if (!stack_watch_active(c)) return;
  const StackRange stack = watch->current[process] = stack_with(watch, sp);
  const uint32_t limit = ran_over(watch, stack) ? watch->lowest : stack.begin;
  if (limit != watch->limits[process]) set_limit(c, process, limit);
}

// Notes that `stack` runs down to `lowest`; false if another stack ran over before.
static bool note(Core *c, StackRange stack, uint32_t lowest, uint32_t pc) {
  StackWatch *watch = &c->stack;
  if (!watch->lowest) {
    watch->over = stack;
    watch->pc = pc;
    watch->at = core_now(c);
  } else if (!ran_over(watch, stack)) {
    return false;
  }
  if (!watch->lowest || lowest < watch->lowest) watch->lowest = lowest;
  return true;
}

bool stack_watch_start(Core *c, const StackRange *ranges, int count) {
  stack_watch_free(c);
  StackRange *known = malloc((size_t)(count + 1) * sizeof *known);
  if (!known) return false;
  memcpy(known, ranges, (size_t)count * sizeof *known);
  c->stack.known = known;
  c->stack.count = count;
  stack_watch_restart(c);
  return true;
}

void stack_watch_free(Core *c) {
  free(c->stack.known);
  c->stack.known = NULL;
}

bool stack_watch_active(const Core *c) { return c->stack.known && !(c->cpu.extras & EXTRA_LIMITS); }

void stack_watch_restart(Core *c) {
  c->stack.lowest = 0;
  if (!stack_watch_active(c)) return;
  memset(c->stack.current, 0, sizeof c->stack.current);
  c->stack.limits[0] = c->stack.limits[1] = NOT_FOUND_YET;
  state_set_limits(c, NOT_FOUND_YET, NOT_FOUND_YET);
}

void stack_watch_below(Core *c, bool process, uint32_t frame, uint32_t pc) {
  const StackRange now = c->stack.current[process];
  const uint32_t sp = core_reg(c, REG_SP), limit = c->stack.limits[process];
  const bool same = now.begin && sp >= limit && sp <= now.top;
  if (stack_watch_active(c) && same && note(c, now, frame, pc)) set_limit(c, process, frame);
}

bool stack_watch_took(Core *c, uint32_t pc) {
  if (!stack_watch_active(c)) return false;
  StackWatch *watch = &c->stack;
  const bool process = !(core_reg(c, REG_XPSR) & 0x1FF) && core_reg(c, REG_CONTROL) & SPSEL;
  const uint32_t sp = core_reg(c, REG_SP), limit = watch->limits[process];
  const StackRange now = watch->current[process];
  const Area *area = memory_code(&c->memory, pc);
  if (!now.begin || sp < limit || sp > now.top) {
    stack_watch_look_up(c, process, sp);
    return true;
  }
  const bool first = !watch->lowest;
  const bool deeper = area && grows(memory_halfword(area, pc), memory_halfword(area, pc + 2));
  if (deeper && note(c, now, limit - STEP, pc)) {
    set_limit(c, process, limit - STEP);
    if (first) c->stop.reason = REASON_STACK;
  } else {  // it goes to another stack
    memset(&watch->current[process], 0, sizeof now);
    set_limit(c, process, 0);
  }
  return true;
}
