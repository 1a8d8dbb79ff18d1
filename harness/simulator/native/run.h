// Runs until the machine must do something.
#ifndef HARNESS_SIMULATOR_NATIVE_RUN_H_
#define HARNESS_SIMULATOR_NATIVE_RUN_H_
#include "core.h"

// Run until a reason to return, for at most about `seconds` of wall time (0: no bound).
int run_core(Core *c, double seconds);
// Run the one instruction at pc; the reason why it did not end, if so.
int run_step(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_RUN_H_
