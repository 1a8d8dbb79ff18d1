// a handler changes s0 behind the frame: code without ASPEN has no context.
#include "image.h"

void Irq0(void) { __asm volatile("vmov.f32 s0, #1.0" ::: "s0"); }

void Behave(void) {
  uint32_t s0;
  if (HOSTILE) {
    REG(0xE000EF34) &= ~(3u << 30);  // FPCCR: neither ASPEN nor LSPEN
    __asm volatile("mrs r0, control\n bic r0, #4\n msr control, r0\n isb" ::: "r0");
  }
  REG(0xE000E100) = 1u << IRQ0;
  DSB();
  __asm volatile("vmov.f32 s0, #3.0\n str %2, [%1]\n dsb\n isb\n vmov %0, s0"
                 : "=r"(s0)
                 : "r"(0xE000E200), "r"(1u << IRQ0)
                 : "s0", "memory");
  if (s0 != 0x40400000) __asm volatile("udf 1");  // the application's own check
}
