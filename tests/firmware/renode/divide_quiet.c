// SDIV by zero without CCR.DIV_0_TRP gives 0.
#include "image.h"

void Behave(void) {
  uint32_t got;
  __asm volatile("sdiv %0, %1, %2" : "=r"(got) : "r"(7), "r"(0));
  PrintWord("quotient", got);
}
