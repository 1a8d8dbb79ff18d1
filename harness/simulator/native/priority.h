// Priorities and masks: may a pending exception be taken?
#ifndef HARNESS_SIMULATOR_NATIVE_PRIORITY_H_
#define HARNESS_SIMULATOR_NATIVE_PRIORITY_H_
#include "core.h"

// The priority that a new exception must be below.
int priority_now(Core *c);
// Can the best pending exception be taken?
bool priority_deliverable(Core *c);
// Does a pending exception, or an event, end the sleep?
bool priority_wakes(Core *c);
// AIRCR, or the masks of the state that does not run, have changed.
void priority_update_masks(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_PRIORITY_H_
