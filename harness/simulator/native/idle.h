// Loops that can change nothing, skipped to the next event.
#ifndef HARNESS_SIMULATOR_NATIVE_IDLE_H_
#define HARNESS_SIMULATOR_NATIVE_IDLE_H_
#include "core.h"

// The current block, about to run, may be the first of such a loop.
void idle_begin(Core *c);
// A block is about to run while a loop is watched.
void idle_block(Core *c);
// The branch to itself at `pc` is next: it ends the run, or is counted up to `stop_at`.
void idle_branch(Core *c, uint32_t pc);
// A hint at `pc` that does nothing now is next: the loop around it is skipped. With `waits`, for
// WFI, it ends the run as a branch to itself does.
void idle_hint(Core *c, uint32_t pc, bool waits);
// The core carries out the instruction at `pc`, which does nothing, in such a loop.
void idle_instruction(Core *c, uint32_t pc);
// The first part of a block is about to run alone.
void idle_part(Core *c);
// Something has happened that such a loop has not in it.
void idle_forget_hint(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_IDLE_H_
