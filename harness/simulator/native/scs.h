// The registers of the System Control Space that need no device.
#ifndef HARNESS_SIMULATOR_NATIVE_SCS_H_
#define HARNESS_SIMULATOR_NATIVE_SCS_H_
#include "core.h"

// Is it a register of the MPU's regions?
bool scs_is_region(uint32_t address);
// Carry out the access to a word; false: the machine must do so.
bool scs_access(Core *c, bool write, uint32_t address, uint32_t value);
#endif  // HARNESS_SIMULATOR_NATIVE_SCS_H_
