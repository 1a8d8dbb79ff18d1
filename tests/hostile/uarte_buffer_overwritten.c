// A buffer is used for the next text before the last one has left.
#include "image.h"

static volatile char buffer[] = "first\n";

void Behave(void) {
  REG(UARTE0 + 0x544) = (uint32_t)buffer;
  REG(UARTE0 + 0x548) = sizeof buffer - 1;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  while (!HOSTILE && !REG(UARTE0 + 0x120)) {
  }
  for (uint32_t i = 0; i < 5; i++) buffer[i] = 'x';
  while (!REG(UARTE0 + 0x120)) {
  }
}
