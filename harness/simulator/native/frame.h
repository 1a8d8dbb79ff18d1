// Memory as the processor's own accesses see it: exception frames, return addresses.
#ifndef HARNESS_SIMULATOR_NATIVE_FRAME_H_
#define HARNESS_SIMULATOR_NATIVE_FRAME_H_
#include "core.h"

// Whose rights count for an access.
typedef struct {
  bool nonsecure, privileged, negative;  // negative: of a priority below zero
} Accessor;

// The bytes of a frame; NULL if an access to any of them is refused, and why.
uint8_t *frame_at(Core *c, uint32_t address, uint32_t size, bool write, bool privileged,
                  Failure *why);
// The same for code that does not run now.
uint8_t *frame_of(Core *c, const Accessor *by, uint32_t address, uint32_t size, bool write,
                  Failure *why);
// The address of such a failure, as a fault has it: SFAR, or NULL.
const uint32_t *frame_address(const Core *c, Failure why);
// The limit of a stack of the running state, 0 for none.
uint32_t frame_limit(Core *c, bool process);
// The status of a load or store of secure code that failed like the access to a frame.
Failure frame_failure_of_data(Failure failure);
#endif  // HARNESS_SIMULATOR_NATIVE_FRAME_H_
