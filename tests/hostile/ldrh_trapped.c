// LDRH at an odd address with CCR.UNALIGN_TRP.
#include "image.h"

static uint32_t words[8] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};

void Behave(void) {
  uint32_t value;
  if (HOSTILE) CCR |= 1u << 3;  // UNALIGN_TRP
  DSB();
  __asm volatile("ldrh %0, [%1]" : "=r"(value) : "r"((uint8_t *)words + 1) : "memory");
  PrintWord("value", value);
}
