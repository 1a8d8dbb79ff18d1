// A word at an odd address is allowed in normal memory until CCR.UNALIGN_TRP forbids it.
#include "image.h"

static uint32_t words[2] = {0x11223344, 0x55667788};

void Behave(void) {
  uint32_t value;
  if (HOSTILE) CCR |= 1u << 3;  // UNALIGN_TRP
  DSB();
  __asm volatile("ldr %0, [%1]" : "=r"(value) : "r"((uint8_t *)words + 1) : "memory");
  PrintWord("value", value);
}
