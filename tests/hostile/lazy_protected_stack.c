// The floating-point registers of the interrupted code are stored with its first
// instruction that uses such a register: after the handler has protected the stack.
#include "image.h"

void Irq0(void) {
  if (!HOSTILE) __asm volatile("vmov.f32 s0, #1.0" ::: "s0");  // stores the context
  const uint32_t context = REG(0xE000EF38);
  REG(0xE000EDC0) = 0x44;
  REG(0xE000ED98) = 0;
  REG(0xE000ED9C) = (context & ~31u) | 2u << 1;  // read-only
  REG(0xE000EDA0) = ((context + 64) & ~31u) | 1u;
  REG(0xE000ED94) = 5;
  DSB();
  __asm volatile("vmov.f32 s0, #1.0" ::: "s0");
  REG(0xE000ED94) = 0;
  DSB();
}

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ0;  // NVIC_ISER0
  DSB();
  __asm volatile("vmov.f32 s0, #3.0\n str %1, [%0]\n dsb\n isb" ::"r"(0xE000E200), "r"(1u << IRQ0)
                 : "s0", "memory");
}
