// A fault in the handler of HardFault: lockup.
#include "image.h"

void HardFault(void) { __asm volatile("udf 1"); }

void Behave(void) {
  SHCSR = 0;
  DSB();
  __asm volatile("udf 0");
}
