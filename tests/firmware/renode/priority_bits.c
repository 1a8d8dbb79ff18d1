// Bits of a priority: BASEPRI, an interrupt's, PendSV's.
#include "image.h"

void Behave(void) {
  uint32_t mask;
  __asm volatile("msr basepri, %1\n mrs %0, basepri\n msr basepri, %2"
                 : "=&r"(mask)
                 : "r"(0xFF), "r"(0));
  *(volatile uint8_t *)(0xE000E400 + IRQ0) = 0xFF;
  REG(0xE000ED20) = 0x00FF0000;
  PrintWord("basepri", mask);
  PrintWord("irq", *(volatile uint8_t *)(0xE000E400 + IRQ0));
  PrintWord("pendsv", REG(0xE000ED20));
}
