// What happens by itself, without the machine: bytes leave UARTEs, RTCs count.
#ifndef HARNESS_SIMULATOR_NATIVE_EVENTS_H_
#define HARNESS_SIMULATOR_NATIVE_EVENTS_H_
#include "core.h"

// Let happen what is due by now; false if a device must act, or if nothing was due.
bool events_advance(Core *c);
// Stop at the next event, at the latest at the machine's own `end_at`.
void events_limit(Core *c);
// The tick at which more happens than that a byte is read and sent; INT64_MAX for never.
long long events_next(const Core *c);
// Sleep until something wakes the core; false if the machine must do something first, at `until`
// the latest.
bool events_sleep(Core *c, long long until);
#endif  // HARNESS_SIMULATOR_NATIVE_EVENTS_H_
