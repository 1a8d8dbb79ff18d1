// Priorities and masks: whether a pending exception can be taken.
#ifndef HARNESS_SIMULATOR_NATIVE_PRIORITY_H_
#define HARNESS_SIMULATOR_NATIVE_PRIORITY_H_
#include "core.h"

// Returns the execution priority, which a new exception must be below.
int priority_now(Core *c);
// Whether the first pending exception can be taken.
bool priority_deliverable(Core *c);
// Whether a pending exception, or an event, ends the sleep.
bool priority_wakes(Core *c);
// What an exception would do if it became pending now; bits.
enum { PREEMPTS = 1, WAKES_WFI = 2, WAKES_WFE = 4 };
int priority_effect(Core *c, int number);
// To be called after a change of AIRCR, or of the masks of the other security state.
void priority_update_masks(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_PRIORITY_H_
