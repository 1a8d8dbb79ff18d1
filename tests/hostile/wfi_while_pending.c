// WFI with interrupts masked while one is pending does not sleep: the loop spins for ever.
#include "image.h"

static volatile uint32_t done;

void Irq0(void) { done = 1; }

void Behave(void) {
  __asm volatile("cpsid i");
  REG(0xE000E100) = 1u << IRQ0;  // ISER
  REG(0xE000E200) = 1u << IRQ0;  // ISPR
#if !HOSTILE
  __asm volatile("wfi\n cpsie i\n isb");
#endif
  while (!done) __asm volatile("dsb\n wfi");
}
