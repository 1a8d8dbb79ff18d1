// A delay that polls COUNTER of an RTC whose clock was never started.
#include "image.h"
#define RTC0 0x50014000u

void Behave(void) {
  REG(RTC0 + 0x000) = 1;              // START
  if (!HOSTILE) REG(0x50005008) = 1;  // CLOCK.TASKS_LFCLKSTART, as Zephyr does after START
  while (REG(RTC0 + 0x504) < 33) {
  }
}
