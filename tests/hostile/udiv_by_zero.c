// UDIV by zero with CCR.DIV_0_TRP.
#include "image.h"

void Behave(void) {
  uint32_t quotient;
  CCR |= 1u << 4;  // DIV_0_TRP
  DSB();
  __asm volatile("udiv %0, %1, %2" : "=r"(quotient) : "r"(7), "r"(HOSTILE ? 0 : 2));
  PrintWord("quotient", quotient);
}
