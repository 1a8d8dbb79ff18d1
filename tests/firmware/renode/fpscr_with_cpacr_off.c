// VMSR FPSCR with CPACR off.
#include "image.h"

void Behave(void) {
  CPACR = 0;
  DSB();
  __asm volatile("vmsr fpscr, %0" ::"r"(0));
}
