// The MPU in force.
#ifndef HARNESS_SIMULATOR_NATIVE_PROTECTION_H_
#define HARNESS_SIMULATOR_NATIVE_PROTECTION_H_
#include "core.h"

// Follows the changes of an MPU; NULL: no longer.
void protection_connect(Core *c, Mpu *mpu);
// Puts the MPU of the current security state in force, by its registers and the priority.
void protection_synchronize(Core *c);
// Does so after exception entry and return, if the priority may have switched it on or off.
void protection_follow(Core *c);
// Allows a refused fetch from now on, unless the firmware's MPU refuses it; returns whether it did.
bool protection_admit_code(Core *c);
// Puts all of the firmware's regions in force for a refused load or store; returns whether to
// retry.
bool protection_unfold(Core *c);
// Puts no MPU in force until protection_synchronize().
void protection_lift(Core *c);
// Returns whether waiting changes leave the regions in force as they are; then none waits any more.
bool protection_settle(Core *c);
// Whether Unicorn refuses a fetch without a region, and from an execute-never one. Runs no code.
bool protection_works(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_PROTECTION_H_
