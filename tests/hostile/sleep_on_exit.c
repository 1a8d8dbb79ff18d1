// SCR.SLEEPONEXIT: after the handler the core sleeps again instead of going on.
#include "image.h"

static volatile uint32_t done;

void Irq0(void) {
#if !HOSTILE
  REG(0xE000ED10) &= ~2u;
#endif
  done = 1;
}

void Behave(void) {
  REG(0xE000ED10) |= 2;  // SCR.SLEEPONEXIT
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
  while (!done) {
  }
}
