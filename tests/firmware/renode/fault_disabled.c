// An undefined instruction while SHCSR enables no fault: HardFault, FORCED.
#include "image.h"

void Behave(void) {
  SHCSR = 0;
  DSB();
  __asm volatile("udf 1");
}
