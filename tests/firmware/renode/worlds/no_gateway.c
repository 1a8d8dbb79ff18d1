// A call into secure flash where no gateway is: SecureFault, INVEP.
#include "image.h"

void Behave(void) { __asm volatile("blx %0" ::"r"(0x101) : "lr", "memory"); }
