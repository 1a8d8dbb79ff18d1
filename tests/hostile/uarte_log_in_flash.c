// A log on UARTE1, as TF-M's, whose text lies in flash.
#include "image.h"

#define UARTE1 0x50009000u

static const char kText[] = "a log\n";
static volatile char buffer[sizeof kText];

void Behave(void) {
  for (uint32_t i = 0; i < sizeof kText; i++) buffer[i] = kText[i];
  REG(UARTE1 + 0x50C) = 1;
  REG(UARTE1 + 0x524) = 0x01D60000;
  REG(UARTE1 + 0x500) = 8;
  REG(UARTE1 + 0x544) = HOSTILE ? (uint32_t)kText : (uint32_t)buffer;
  REG(UARTE1 + 0x548) = sizeof kText - 1;
  REG(UARTE1 + 0x008) = 1;
  while (!REG(UARTE1 + 0x120)) {
  }
}
