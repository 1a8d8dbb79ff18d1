// Memory as the processor's own accesses see it: exception frames, return addresses.
#ifndef HARNESS_SIMULATOR_NATIVE_FRAME_H_
#define HARNESS_SIMULATOR_NATIVE_FRAME_H_
#include "core.h"

// The code whose rights apply to an access.
typedef struct {
  bool nonsecure, privileged, negative;  // negative: of a priority below zero
} Accessor;

// Returns the bytes of a frame; NULL, with the failure, if an access to any of them is refused.
uint8_t *frame_at(Core *c, uint32_t address, uint32_t size, bool write, bool privileged,
                  Failure *why);
// Returns the bytes of a frame for the rights of other code than the current one.
uint8_t *frame_of(Core *c, const Accessor *by, uint32_t address, uint32_t size, bool write,
                  Failure *why);
// Returns the fault address of such a failure: SFAR, or NULL.
const uint32_t *frame_address(const Core *c, Failure why);
// Returns the limit of a stack of the current state, 0 for none.
uint32_t frame_limit(Core *c, bool process);
// Converts the failure of a frame to that of a load or store by secure code.
Failure frame_failure_of_data(Failure failure);
#endif  // HARNESS_SIMULATOR_NATIVE_FRAME_H_
