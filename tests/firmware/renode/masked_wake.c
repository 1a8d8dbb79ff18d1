// WFI with PRIMASK set wakes for a pending interrupt, which is taken when the mask goes.
#include "image.h"

static volatile uint32_t taken;

void Irq0(void) { taken = 1; }

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ0;
  __asm volatile("cpsid i");
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
  __asm volatile("wfi");
  uint32_t before = taken;
  __asm volatile("cpsie i\n isb");
  PrintWord("taken", before << 1 | taken);
}
