// a word at P0.OUT + 1: peripherals are Device memory.
#include "image.h"

void Behave(void) {
  const uint32_t place = 0x50842504u + (HOSTILE ? 1 : 0);  // P0.OUT
  uint32_t value;
  __asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(place) : "memory");
  PrintWord("value", value);
}
