// STARTTX of a UARTE that is not enabled: no ENDTX.
#include "image.h"

void Behave(void) {
  REG(UARTE0 + 0x500) = 0;
  static char text[] = "off\n";
  REG(UARTE0 + 0x544) = (uint32_t)text;
  REG(UARTE0 + 0x548) = 4;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  for (volatile uint32_t i = 0; i < 50000; i++) {
  }
  uint32_t sent = REG(UARTE0 + 0x120);
  StartConsole();
  PrintWord("sent", sent);
}
