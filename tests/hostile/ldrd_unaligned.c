// LDRD takes words: at an address that is not a multiple of 4 it faults whatever UNALIGN_TRP says.
#include "image.h"

static uint32_t words[4] = {1, 2, 3, 4};

void Behave(void) {
  uint32_t low, high;
  uint8_t *from = (uint8_t *)words + (HOSTILE ? 2 : 4);
  __asm volatile("ldrd %0, %1, [%2]" : "=r"(low), "=r"(high) : "r"(from) : "memory");
  PrintWord("high", high);
}
