// WFE is over at once after SEV; with SEVONPEND a disabled interrupt that becomes pending wakes it.
#include "image.h"

void Behave(void) {
  __asm volatile("sev\n wfe");
  Print("sev\n");
  REG(0xE000ED10) = 1u << 4;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
  __asm volatile("wfe");
  Print("pending\n");
  REG(0xE000E280) = 1u << IRQ0;
}
