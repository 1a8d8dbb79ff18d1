// DWT's cycle counter with DEMCR.TRCENA.
#include "image.h"

void Behave(void) {
  REG(0xE000EDFC) = 1u << 24;
  REG(0xE0001000) |= 1;
  uint32_t first = REG(0xE0001004);
  for (volatile uint32_t i = 0; i < 100; i++) {
  }
  PrintWord("counts", REG(0xE0001004) != first);
}
