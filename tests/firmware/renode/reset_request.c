// How far an image comes after it asked for a reset: the chip resets within a few cycles.
#include "image.h"

__attribute__((section(".noinit"))) static volatile uint32_t boots, turns;

void Behave(void) {
  if (boots != 0x1234) {
    boots = 0x1234;
    turns = 0;
    REG(0xE000ED0C) = 0x05FA0004;
    __asm volatile("dsb");
    for (;;) turns++;
  }
  boots = 0;
  PrintWord("late", turns > 100);
}
