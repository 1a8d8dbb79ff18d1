// Skipping of loops without effect to the next event.
#ifndef HARNESS_SIMULATOR_NATIVE_IDLE_H_
#define HARNESS_SIMULATOR_NATIVE_IDLE_H_
#include "core.h"

// To be called before a block that may be the first of such a loop.
void idle_begin(Core *c);
// To be called before each block while a loop is watched.
void idle_block(Core *c);
// Ends the run at the branch to itself at `pc`, or counts it up to `stop_at`.
void idle_branch(Core *c, uint32_t pc);
// Skips the loop around the hint at `pc`, which has no effect now. With `waits`, for WFI, it ends
// the run as a branch to itself does.
void idle_hint(Core *c, uint32_t pc, bool waits);
// Carries out the instruction at `pc`, which does nothing, in such a loop.
void idle_instruction(Core *c, uint32_t pc);
// To be called before the first part of a block runs alone.
void idle_part(Core *c);
// Gives up the search, because something happened that is not in such a loop.
void idle_forget_hint(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_IDLE_H_
