// SVC in a handler that is more urgent than SVCall.
#include "image.h"

void Irq0(void) { __asm volatile("svc 0"); }
void Svc(void) {}

void Behave(void) {
  REG(0xE000ED1C) = (HOSTILE ? 0x80u : 0) << 24;  // SHPR2: SVCall
  *(volatile uint8_t *)(0xE000E400 + IRQ0) = 0x40;
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
}
