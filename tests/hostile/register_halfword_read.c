// A halfword of a register is read, as code for chips with 16-bit registers does.
#include "image.h"

void Behave(void) {
  const uint32_t counter = 0x50014504u;  // RTC0.COUNTER
  PrintWord("counter", HOSTILE ? *(volatile uint16_t *)counter : REG(counter));
}
