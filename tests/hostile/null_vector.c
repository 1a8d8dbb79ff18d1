// an interrupt whose vector is 0.
#include "image.h"

static uint32_t table[128] __attribute__((aligned(512)));

void Irq0(void) {}

void Behave(void) {
  for (uint32_t i = 0; i < 81; i++) table[i] = ((const uint32_t *)0)[i];
  if (HOSTILE) table[16 + IRQ0] = 0;
  REG(0xE000ED08) = (uint32_t)table;  // VTOR
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
}
