// WFI does not wake for an interrupt that BASEPRI masks; for one that PRIMASK masks it does.
#include "image.h"

void Irq0(void) {}

void Behave(void) {
  REG(0xE000E400 + (IRQ0 & ~3u)) = 0xC0C0C0C0;  // IPR
  REG(0xE000E100) = 1u << IRQ0;                 // ISER
#if HOSTILE
  __asm volatile("msr basepri, %0" : : "r"(0x40));
#else
  __asm volatile("cpsid i");
#endif
  REG(0xE000E200) = 1u << IRQ0;  // ISPR
  DSB();
  __asm volatile("wfi");
  __asm volatile("cpsie i");
}
