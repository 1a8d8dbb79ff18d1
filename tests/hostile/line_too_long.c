// More bytes are sent than the buffer was filled with.
#include "image.h"

__attribute__((section(".noinit"))) static volatile char line[16];

void Behave(void) {
  static const char kText[8] = "measure\n";
  for (uint32_t i = 0; i < sizeof kText; i++) line[i] = kText[i];
  REG(UARTE0 + 0x544) = (uint32_t)line;                        // TXD.PTR
  REG(UARTE0 + 0x548) = HOSTILE ? sizeof line : sizeof kText;  // TXD.MAXCNT
  REG(UARTE0 + 0x120) = 0;                                     // EVENTS_ENDTX
  REG(UARTE0 + 0x008) = 1;                                     // TASKS_STARTTX
  while (!REG(UARTE0 + 0x120)) {
  }
  Print("\n");
}
