// POWER's RESETREAS after a reset that the image asks for: SREQ (bit 16).
#include "image.h"

__attribute__((section(".noinit"))) static volatile uint32_t boots;

void Behave(void) {
  if (boots != 0x1234) {
    boots = 0x1234;
    REG(0xE000ED0C) = 0x05FA0004;
    for (;;) {
    }
  }
  boots = 0;
  PrintWord("sreq", REG(0x50005400) >> 16 & 1);
}
