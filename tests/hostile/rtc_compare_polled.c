// A loop that waits for a compare event one count ahead, without interrupt; the twin looks again
// and moves a value that it may have missed.
#include "image.h"
#define RTC0 0x50014000u
#define COUNTER REG(RTC0 + 0x504)

void Behave(void) {
  REG(0x50005008) = 1;           // CLOCK.TASKS_LFCLKSTART
  REG(RTC0 + 0x344) = 1u << 17;  // EVTENSET: COMPARE[1]
  REG(RTC0 + 0x000) = 1;         // START
  while (COUNTER < 5) {
  }
  uint32_t at = COUNTER + 1;
  REG(RTC0 + 0x544) = at;  // CC[1]
  while (!HOSTILE && at - COUNTER < 3) REG(RTC0 + 0x544) = at = COUNTER + 3;
  while (!REG(RTC0 + 0x144)) {
  }
  REG(RTC0 + 0x004) = 1;  // STOP
}
