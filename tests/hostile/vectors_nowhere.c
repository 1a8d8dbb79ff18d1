// a vector table where nothing answers.
#include "image.h"

void Irq0(void) {}

void Behave(void) {
  if (HOSTILE) REG(0xE000ED08) = 0x2FFFF000;  // VTOR
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
}
