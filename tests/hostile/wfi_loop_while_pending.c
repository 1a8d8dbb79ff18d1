// The same in a loop that nothing leaves: a halt that takes power.
#include "image.h"

void Irq0(void) {}

void Behave(void) {
  __asm volatile("cpsid i");
  REG(0xE000E100) = 1u << IRQ0;  // ISER
  REG(0xE000E200) = 1u << IRQ0;  // ISPR
#if HOSTILE
  for (;;) __asm volatile("wfi");
#else
  __asm volatile("wfi\n cpsie i\n isb");
#endif
}
