// Runs until the machine must act.
#ifndef HARNESS_SIMULATOR_NATIVE_RUN_H_
#define HARNESS_SIMULATOR_NATIVE_RUN_H_
#include "core.h"

// Runs until a reason to return, for at most about `seconds` of wall time (0: no limit).
int run_core(Core *c, double seconds);
// The same, one instruction at a time; `before` is called ahead of each, and may fail.
int run_stepwise(Core *c, double seconds, bool (*before)(Core *c, void *given), void *given);
// Runs the instruction at pc; returns the reason if it was not completed.
int run_step(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_RUN_H_
