// a floating-point instruction without CPACR.
#include "image.h"

void Behave(void) {
  if (HOSTILE) CPACR = 0;
  DSB();
  __asm volatile("vmov.f32 s0, #1.0" ::: "s0");
}
