// The flag is looked at, then the interrupt comes, then WFI sleeps for an event that is over.
#include "image.h"

static volatile uint32_t done;

void Irq0(void) { done = 1; }

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ0;  // ISER
#if HOSTILE
  if (!done) {
    REG(0xE000E200) = 1u << IRQ0;  // ISPR: it comes here
    DSB();
    __asm volatile("wfi");
  }
#else
  __asm volatile("cpsid i");
  while (!done) {
    REG(0xE000E200) = 1u << IRQ0;
    DSB();
    __asm volatile("wfi\n cpsie i\n isb\n cpsid i");
  }
  __asm volatile("cpsie i");
#endif
}
