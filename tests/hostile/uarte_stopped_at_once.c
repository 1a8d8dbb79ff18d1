// STOPTX directly behind STARTTX: the transfer ends behind its first byte.
#include "image.h"

static char line[] = "ok\n";

void Behave(void) {
  if (!HOSTILE) return;
  REG(UARTE0 + 0x544) = (uint32_t)line;
  REG(UARTE0 + 0x548) = 3;
  REG(UARTE0 + 0x158) = 0;
  REG(UARTE0 + 0x008) = 1;
  REG(UARTE0 + 0x00C) = 1;
  while (!REG(UARTE0 + 0x158)) {
  }
  for (;;) __asm volatile("wfi");
}
