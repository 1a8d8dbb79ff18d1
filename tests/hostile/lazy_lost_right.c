// a handler that switches the FPU off for the code whose registers it must store.
#include "image.h"

void Irq0(void) {
  if (HOSTILE) CPACR = 0;
  DSB();
  __asm volatile("vmov.f32 s0, #1.0" ::: "s0");
}

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ0;  // NVIC_ISER0
  DSB();
  __asm volatile("vmov.f32 s0, #3.0\n str %1, [%0]\n dsb\n isb" ::"r"(0xE000E200), "r"(1u << IRQ0)
                 : "s0", "memory");
}
