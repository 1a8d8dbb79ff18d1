// The MPU in force.
#ifndef HARNESS_SIMULATOR_NATIVE_PROTECTION_H_
#define HARNESS_SIMULATOR_NATIVE_PROTECTION_H_
#include "core.h"

// Follow the changes of an MPU; NULL: no more.
void protection_connect(Core *c, Mpu *mpu);
// Put the MPU of the running security state in force, by its registers and the priority.
void protection_synchronize(Core *c);
// An exception was taken or left: the same, if the priority may have switched it on or off.
void protection_follow(Core *c);
// A fetch was refused: true if the firmware's MPU did not refuse it. It is allowed from now on.
bool protection_admit_code(Core *c);
// A load or store was refused: true if it must be tried again, with all of the firmware's regions.
bool protection_unfold(Core *c);
// Changes wait: true if they leave what is in force as it is, so that none waits any more.
bool protection_settle(Core *c);
// Is a fetch refused without a region, and from an execute-never one? Runs no instruction.
bool protection_works(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_PROTECTION_H_
