// Priorities, an enabled and pending interrupt, SysTick and CCR after a reset that the image asks
// for.
#include "image.h"

__attribute__((section(".noinit"))) static volatile uint32_t boots;

void Irq0(void) {}

void Behave(void) {
  if (boots != 0x1234) {
    boots = 0x1234;
    REG(0xE000ED20) = 0x20400000;
    REG(0xE000E400) = 0x20202020;
    __asm volatile("cpsid i");
    REG(0xE000E100) = 1u << IRQ0;
    REG(0xE000E200) = 1u << IRQ0;
    REG(0xE000E014) = 64000;
    REG(0xE000E010) = 1;
    CCR |= 1u << 4;
    REG(0xE000ED0C) = 0x05FA0004;
    for (;;) {
    }
  }
  boots = 0;
  PrintWord("shpr3", REG(0xE000ED20));
  PrintWord("ipr0", REG(0xE000E400));
  PrintWord("iser0", REG(0xE000E100));
  PrintWord("ispr0", REG(0xE000E200));
  PrintWord("systick", REG(0xE000E010) & 3);
  PrintWord("div_0_trp", CCR >> 4 & 1);
}
