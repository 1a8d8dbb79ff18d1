// RTC0 is started without LFCLK: its counter stands, and the compare event never comes.
#define IRQ0 20
#include "image.h"
#define RTC0 0x50014000u

void Irq0(void) { REG(RTC0 + 0x140) = 0; }

void Behave(void) {
  if (!HOSTILE) REG(0x50005008) = 1;  // CLOCK.TASKS_LFCLKSTART
  REG(0xE000E100) = 1u << IRQ0;
  REG(RTC0 + 0x540) = 100;       // CC[0]
  REG(RTC0 + 0x304) = 1u << 16;  // INTENSET: COMPARE[0]
  REG(RTC0 + 0x000) = 1;         // START
  __asm volatile("wfi");
  REG(RTC0 + 0x004) = 1;  // STOP
}
