// Loops that can change nothing, skipped to the next event.
#ifndef HARNESS_SIMULATOR_NATIVE_IDLE_H_
#define HARNESS_SIMULATOR_NATIVE_IDLE_H_
#include "core.h"

// The current block, about to run, may be the first of such a loop.
void idle_begin(Core *c);
// A block is about to run while a loop is watched.
void idle_block(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_IDLE_H_
