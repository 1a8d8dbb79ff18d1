// The image resets itself with BASEPRI set; an interrupt of priority 2 is taken after the reset.
#include "image.h"

__attribute__((section(".noinit"))) static volatile uint32_t boots;
static volatile uint32_t taken;

void Irq0(void) { taken = 1; }

void Behave(void) {
  if (boots != 0x1234) {
    boots = 0x1234;
    __asm volatile("msr basepri, %0" ::"r"(0x20));
    REG(0xE000ED0C) = 0x05FA0004;
    for (;;) {
    }
  }
  boots = 0;
  *(volatile uint8_t *)(0xE000E400 + IRQ0) = 0x40;
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
  PrintWord("taken", taken);
}
