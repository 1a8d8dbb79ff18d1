// System OFF stops the UARTE: what has not left is lost. The twin waits for the end of the
// transfer.
#include "image.h"

void Behave(void) {
  static char text[] = "ok\n";
  REG(UARTE0 + 0x544) = (uint32_t)text;  // TXD.PTR
  REG(UARTE0 + 0x548) = 3;               // TXD.MAXCNT
  REG(UARTE0 + 0x120) = 0;               // EVENTS_ENDTX
  REG(UARTE0 + 0x008) = 1;               // TASKS_STARTTX
  while (!HOSTILE && !REG(UARTE0 + 0x120)) {
  }
  REG(0x50004500) = 1;  // REGULATORS.SYSTEMOFF
  for (;;) __asm volatile("wfe");
}
