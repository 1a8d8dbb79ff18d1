// FPCCR.CLRONRET: a handler's floats are gone when it returns.
#include "image.h"

void Svc(void) { __asm volatile("vmov.f32 s1, #1.0" ::: "s1"); }

void Behave(void) {
  uint32_t got;
  REG(0xE000EF34) |= 1u << 28;
  __asm volatile("mrs %0, control\n bic %0, #4\n msr control, %0\n isb\n svc 0\n vmov %0, s1"
                 : "=r"(got)::"s1", "memory");
  PrintWord("s1", got);
}
