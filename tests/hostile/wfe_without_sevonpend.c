// WFE with interrupts masked wakes for one that becomes pending only with SCR.SEVONPEND.
#include "image.h"

void Irq0(void) {}

void Behave(void) {
  __asm volatile("cpsid i");
  if (!HOSTILE) REG(0xE000ED10) |= 1u << 4;  // SCR.SEVONPEND
  REG(0xE000E100) = 1u << IRQ0;              // ISER
  __asm volatile("sev\n wfe");               // the event register is clear now
  REG(0xE000E200) = 1u << IRQ0;              // ISPR
  DSB();
  __asm volatile("wfe");
  __asm volatile("cpsie i");
}
