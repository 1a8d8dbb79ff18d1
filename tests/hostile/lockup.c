// a fault in HardFault.
#include "image.h"

void HardFault(void) { __asm volatile("udf 1"); }

void Behave(void) {
  SHCSR = 0;
  DSB();
  if (HOSTILE) __asm volatile("udf 0");
}
