// SysTick interrupts a core that sleeps.
#include "image.h"

static volatile uint32_t ticks;

void SysTick(void) { ticks++; }

void Behave(void) {
  REG(0xE000E014) = 64000 - 1;
  REG(0xE000E018) = 0;
  REG(0xE000E010) = 7;
  while (ticks < 5) __asm volatile("wfi");
  REG(0xE000E010) = 0;
  PrintWord("ticks", ticks);
}
