// A driver that sends byte by byte and never waits for ENDTX.
#include "image.h"

void Behave(void) {
  static volatile char byte;
  static const char kText[] = "a line\n";
  for (uint32_t i = 0; kText[i]; i++) {
    byte = kText[i];
    REG(UARTE0 + 0x544) = (uint32_t)&byte;
    REG(UARTE0 + 0x548) = 1;
    REG(UARTE0 + 0x120) = 0;
    REG(UARTE0 + 0x008) = 1;
    while (!HOSTILE && !REG(UARTE0 + 0x120)) {
    }
  }
  while (!REG(UARTE0 + 0x120)) {
  }
}
