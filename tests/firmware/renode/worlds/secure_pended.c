// ISPR names a secure interrupt: nothing comes of it, in either world.
#include "image.h"

static volatile uint32_t taken;

void Irq(void) { taken = 1; }

void Behave(void) {
  REG(0xE000E100) = 1u << IRQ_NONSECURE;
  REG(0xE000E200) = 1u << IRQ_SECURE;
  __asm volatile("dsb\n isb");
  PrintWord("next", taken);
  PrintWord("secure", SecureTaken());
}
