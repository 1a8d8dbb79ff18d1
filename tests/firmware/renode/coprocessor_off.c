// A floating-point instruction with CPACR off.
#include "image.h"

void Behave(void) {
  CPACR = 0;
  DSB();
  __asm volatile("vmov.f32 s0, #1.0" ::: "s0");
}
