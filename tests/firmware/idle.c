// Loops that wait for an interrupt without sleeping, and one that only looks as if it did.
#include "machine.h"

static volatile uint32_t ticks;
uint32_t counted;

void Rtc0(void) {
  REG(RTC0 + 0x140) = 0;
  REG(RTC0 + 0x540) = REG(RTC0 + 0x504) + 20;
  ticks++;
  results[ticks & 31] = counted;
}

// Two blocks: the flag is read from memory that only the interrupt changes.
__attribute__((noipa)) static void WaitForTick(void) {
  uint32_t start = ticks;
  while (ticks == start) {
    if (start > 1000) break;
  }
}

// Counts in a register: no iteration is like the one before.
__attribute__((noipa)) static uint32_t CountUntilTick(void) {
  uint32_t start = ticks, count = 0;
  while (ticks == start) count++;
  return count;
}

// Waits for a device, which tells the time.
__attribute__((noipa)) static void WaitForCounter(uint32_t until) {
  while (REG(RTC0 + 0x504) < until) {
  }
}

void Main(void) {
  UartStart();
  LfclkStart();
  NVIC_ISER(20) = 1u << 20;
  REG(RTC0 + 0x540) = 10;
  REG(RTC0 + 0x304) = 1u << 16;
  REG(RTC0 + 0x000) = 1;
  WaitForTick();
  counted = CountUntilTick();
  WaitForTick();
  counted += CountUntilTick();
  WaitForCounter(90);
  Print("idle\r\n");
  for (;;) {
  }
}
