// SDIV by zero with CCR.DIV_0_TRP.
#include "image.h"

void Behave(void) {
  CCR |= 1u << 4;
  DSB();
  __asm volatile("sdiv r0, %0, %1" ::"r"(7), "r"(0) : "r0");
}
