// The watchdog starts the RC oscillator by itself: who does not reload it is reset, LFCLK or not.
#include "image.h"
#define WDT 0x50018000u

void Behave(void) {
  REG(WDT + 0x504) = 327;  // CRV: 10 ms
  if (HOSTILE) REG(WDT + 0x000) = 1;
  for (volatile uint32_t i = 0; i < 200000; i++) {
  }
}
