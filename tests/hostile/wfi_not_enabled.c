// WFI for an interrupt that the NVIC has not enabled.
#include "image.h"

static volatile uint32_t done;

void Irq0(void) {
  REG(0x5001B100) = 0;  // EGU0.EVENTS_TRIGGERED[0]
  (void)REG(0x5001B100);
  done = 1;
}

void Behave(void) {
  REG(0x5001B304) = 1;  // EGU0.INTENSET
#if !HOSTILE
  REG(0xE000E100) = 1u << IRQ0;
#endif
  REG(0x5001B000) = 1;  // TASKS_TRIGGER[0]
  DSB();
  while (!done) __asm volatile("wfi");
}
