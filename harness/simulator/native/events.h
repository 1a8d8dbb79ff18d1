// Events that the core handles without the machine: bytes of UARTEs, counters of RTCs.
#ifndef HARNESS_SIMULATOR_NATIVE_EVENTS_H_
#define HARNESS_SIMULATOR_NATIVE_EVENTS_H_
#include "core.h"

// Handles events that are due; false if a device must act, or none was due.
bool events_advance(Core *c);
// Sets `stop_at` to the next event, or to the machine's `end_at` if that is earlier.
void events_limit(Core *c);
// Returns the tick of the next event except a byte that is just read and sent; INT64_MAX for never.
long long events_next(const Core *c);
// Sleep until something wakes the core; false if the machine must do something first, at `until`
// the latest.
bool events_sleep(Core *c, long long until);
#endif  // HARNESS_SIMULATOR_NATIVE_EVENTS_H_
