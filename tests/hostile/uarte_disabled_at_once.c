// ENABLE = 0 directly behind STARTTX, as where a driver saves power: the text is lost.
#include "image.h"

static char line[] = "a line\n";

void Behave(void) {
  REG(UARTE0 + 0x544) = (uint32_t)line;
  REG(UARTE0 + 0x548) = sizeof line - 1;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  while (!HOSTILE && !REG(UARTE0 + 0x120)) {
  }
  REG(UARTE0 + 0x500) = 0;
  REG(UARTE0 + 0x500) = 8;
}
