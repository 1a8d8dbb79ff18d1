// Bytes that a UARTE sends.
#ifndef HARNESS_SIMULATOR_NATIVE_UARTE_H_
#define HARNESS_SIMULATOR_NATIVE_UARTE_H_
#include "core.h"

// Carry out STARTTX; false if the machine must do so.
bool uarte_start(Core *c, Registers *r);
#endif  // HARNESS_SIMULATOR_NATIVE_UARTE_H_
