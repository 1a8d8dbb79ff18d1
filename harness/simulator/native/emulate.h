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
#endif  // HARNESS_SIMULATOR_NATIVE_EMULATE_H_
