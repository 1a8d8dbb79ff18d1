// a handler that returns by a wrong EXC_RETURN.
#include "image.h"

__attribute__((naked)) void Irq0(void) {
#if HOSTILE
  __asm volatile("bic lr, #8\n bx lr");  // to handler mode, though thread mode was interrupted
#else
  __asm volatile("bx lr");
#endif
}

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
}
