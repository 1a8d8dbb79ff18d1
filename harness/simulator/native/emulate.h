// One run of Unicorn, to an exact instruction.
#ifndef HARNESS_SIMULATOR_NATIVE_EMULATE_H_
#define HARNESS_SIMULATOR_NATIVE_EMULATE_H_
#include "core.h"

// Adds the hooks to a new Unicorn; false if it refuses one.
bool emulate_attach(Core *c);
// Runs until `stop.reason`, which is REASON_NONE after a part of a block.
void emulate_on(Core *c);
// Runs the instruction at pc.
void emulate_step(Core *c);
// Runs the instruction at pc while a register has another value.
void emulate_step_with(Core *c, int id, uint32_t value);
#endif  // HARNESS_SIMULATOR_NATIVE_EMULATE_H_
