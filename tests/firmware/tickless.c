// Sleeps while a counter makes events that wake nobody.
#include "machine.h"

void Main(void) {
  UartStart();
  Print("asleep");
  LfclkStart();
  REG(RTC0 + 0x344) = 1;  // an event a tick, and no interrupt
  REG(RTC0 + 0x000) = 1;
  for (;;) __asm volatile("wfi");
}
