// FPCCR.CLRONRET clears s0 to s15 when a handler without a context returns.
#include "image.h"

void Irq0(void) { __asm volatile("vmov.f32 s0, #1.0" ::: "s0"); }

void Behave(void) {
  uint32_t s1;
  if (HOSTILE) REG(0xE000EF34) |= 1u << 28;  // CLRONRET
  REG(0xE000E100) = 1u << IRQ0;
  DSB();
  __asm volatile(
      "vmov.f32 s1, #3.0\n mrs r0, control\n bic r0, #4\n msr control, r0\n isb\n"
      "str %2, [%1]\n dsb\n isb\n vmov %0, s1"
      : "=r"(s1)
      : "r"(0xE000E200), "r"(1u << IRQ0)
      : "r0", "s1", "memory");
  if (s1 != 0x40400000) __asm volatile("udf 1");  // the application's own check
}
