// SysTick, PendSV and EGU1's interrupt of the non-secure world, by its own table.
#include "image.h"

static volatile uint32_t taken;

void SysTick(void) {
  taken |= 1;
  REG(0xE000E010) = 0;
}
void PendSv(void) { taken |= 2; }
void Irq(void) { taken |= 4; }

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ_NONSECURE;
  REG(0xE000E200) = 1u << IRQ_NONSECURE;
  REG(0xE000ED04) = 1u << 28;
  REG(0xE000E014) = 1000;
  REG(0xE000E018) = 0;
  REG(0xE000E010) = 7;
  while (!(taken & 1)) __asm volatile("wfi");
  PrintWord("taken", taken);
}
