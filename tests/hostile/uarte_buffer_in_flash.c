// EasyDMA of a text in flash, which it cannot read.
#include "image.h"

static const char kText[] = "text\n";
static volatile char buffer[sizeof kText];

void Behave(void) {
  for (uint32_t i = 0; i < sizeof kText; i++) buffer[i] = kText[i];
  REG(UARTE0 + 0x544) = HOSTILE ? (uint32_t)kText : (uint32_t)buffer;
  REG(UARTE0 + 0x548) = sizeof kText - 1;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  while (!REG(UARTE0 + 0x120)) {
  }
}
