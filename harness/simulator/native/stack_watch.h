// Whether the main stack runs below its end, where the firmware sets no limit.
#ifndef HARNESS_SIMULATOR_NATIVE_STACK_WATCH_H_
#define HARNESS_SIMULATOR_NATIVE_STACK_WATCH_H_
#include "core.h"

// Watches the main stack, from `begin` to `top`, from now on. Firmware that uses stack limits of
// its own must not be watched.
void stack_watch_start(Core *c, uint32_t begin, uint32_t top);
// Whether MSPLIM is the watch's, not the firmware's.
bool stack_watch_active(const Core *c);
// Takes Unicorn's exception for a stack pointer below MSPLIM; false if the limit is the firmware's.
bool stack_watch_took(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_STACK_WATCH_H_
