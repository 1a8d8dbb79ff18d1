// A branch to itself that a timer's interrupt ends.
#define IRQ0 20  // RTC0
#include "image.h"

void Irq0(void) {
  REG(0x50014140) = 0;  // EVENTS_COMPARE[0]
  REG(0x50014004) = 1;  // TASKS_STOP
  Print("hit\n");
}

void Behave(void) {
  REG(0x50005008) = 1;  // TASKS_LFCLKSTART
  REG(0x50014540) = 328;
  REG(0x50014304) = 1u << 16;
  REG(0xE000E100) = 1u << IRQ0;
  REG(0x50014000) = 1;
  for (;;) {
  }
}
