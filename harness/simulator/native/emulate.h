// One run of Unicorn, to an exact instruction.
#ifndef HARNESS_SIMULATOR_NATIVE_EMULATE_H_
#define HARNESS_SIMULATOR_NATIVE_EMULATE_H_
#include "core.h"

// Hook a new Unicorn; false if it refuses a hook.
bool emulate_attach(Core *c);
// Run until `stop.reason`; REASON_NONE after a part of a block.
void emulate_on(Core *c);
// Run the one instruction at pc.
void emulate_step(Core *c);
// The same while a register has another value.
void emulate_step_with(Core *c, int id, uint32_t value);
#endif  // HARNESS_SIMULATOR_NATIVE_EMULATE_H_
