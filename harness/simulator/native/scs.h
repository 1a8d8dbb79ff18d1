// Registers of the System Control Space that the core models itself.
#ifndef HARNESS_SIMULATOR_NATIVE_SCS_H_
#define HARNESS_SIMULATOR_NATIVE_SCS_H_
#include "core.h"

// Whether it is a register of the MPU's regions.
bool scs_is_region(uint32_t address);
// Carries out the access to a word; false if the machine must do so.
bool scs_access(Core *c, bool write, uint32_t address, uint32_t value);
#endif  // HARNESS_SIMULATOR_NATIVE_SCS_H_
