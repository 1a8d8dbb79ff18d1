// Whether a stack runs below its end, where the firmware sets no limit.
#ifndef HARNESS_SIMULATOR_NATIVE_STACK_WATCH_H_
#define HARNESS_SIMULATOR_NATIVE_STACK_WATCH_H_
#include "core.h"

// Watches stacks from now on, in `count` ranges of memory, sorted by their begins. Firmware that
// uses stack limits of its own must not be watched.
bool stack_watch_start(Core *c, const StackRange *ranges, int count);
void stack_watch_free(Core *c);
// Whether the limits are the watch's, not the firmware's.
bool stack_watch_active(const Core *c);
// Forgets where the stacks are: they are found again when they are used.
void stack_watch_restart(Core *c);
// Finds the stack with this pointer.
void stack_watch_look_up(Core *c, bool process, uint32_t sp);
// Takes Unicorn's exception for a stack pointer below its limit; false if that is the firmware's.
bool stack_watch_took(Core *c, uint32_t pc);
// After an exception PSP or MSP is in use and has the value `sp`, perhaps of another stack.
static inline void stack_watch_follow(Core *c, bool process, uint32_t sp) {
  const StackWatch *watch = &c->stack;
  const bool same = sp > watch->limits[process] && sp <= watch->current[process].top;
  if (!same && watch->known) stack_watch_look_up(c, process, sp);
}
// The frame of an exception goes below the limit.
void stack_watch_below(Core *c, bool process, uint32_t frame, uint32_t pc);
// An exception puts a frame on the stack of the code before `pc`.
static inline void stack_watch_frame(Core *c, bool process, uint32_t frame, uint32_t pc) {
  if (c->stack.known && frame < c->stack.limits[process]) stack_watch_below(c, process, frame, pc);
}
#endif  // HARNESS_SIMULATOR_NATIVE_STACK_WATCH_H_
