// Ends with BASEPRI set, as a panic handler does: for basepri_found, on the same machine.
#include "image.h"

void Behave(void) { __asm volatile("msr basepri, %0" ::"r"(0x20)); }
