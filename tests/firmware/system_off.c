// Prints why it was reset, then switches the chip off; button 1 (P0.06, pulled up) wakes it.
#include "machine.h"

#define P0 0x50842500u

void Main(void) {
  UartStart();
  results[0] = REG(0x50005400);  // RESETREAS
  REG(0x50005400) = results[0];
  Print(results[0] & 4 ? "woken\n" : "up\n");
  if (!(results[0] & 4))
    REG(P0 + 0x200 + 4 * 6) = 3u << 2 | 3u << 16;  // PIN_CNF[6]: pull-up, SENSE low
  REG(0x50004500) = 1;                             // REGULATORS.SYSTEMOFF
  for (;;) __asm volatile("wfe");
}
