// A division by zero gives 0 until CCR.DIV_0_TRP makes it a fault; Zephyr sets that bit at boot.
#include "image.h"

void Behave(void) {
  int32_t quotient;
  if (HOSTILE) CCR |= 1u << 4;  // DIV_0_TRP
  DSB();
  __asm volatile("sdiv %0, %1, %2" : "=r"(quotient) : "r"(7), "r"(0));
  PrintWord("quotient", (uint32_t)quotient);
}
