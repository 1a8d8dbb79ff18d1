// An interrupt of priority 2 is taken at once: BASEPRI is 0 after power-on.
#include "image.h"

static volatile uint32_t taken;

void Irq0(void) { taken = 1; }

void Behave(void) {
  *(volatile uint8_t *)(0xE000E400 + IRQ0) = 0x40;
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
  PrintWord("taken", taken);
}
