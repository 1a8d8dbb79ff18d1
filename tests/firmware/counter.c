// An RTC's counter, read while it runs, stands, was cleared, overflows, and after sleep.
#include "machine.h"

#define COUNTER REG(RTC0 + 0x504)

static uint32_t at;

// Waits until the counter changes; what it was and is then.
static void Watch(void) {
  uint32_t was = COUNTER, now;
  do {
    now = COUNTER;
  } while (now == was);
  results[at++] = was;
  results[at++] = now;
}

void Rtc0(void) { REG(RTC0 + 0x140) = 0; }

void Main(void) {
  UartStart();
  LfclkStart();
  NVIC_ISER(20) = 1u << 20;
  results[at++] = COUNTER;
  REG(RTC0 + 0x508) = 3;
  REG(RTC0 + 0x000) = 1;
  for (uint32_t i = 0; i < 5; i++) Watch();
  REG(RTC0 + 0x008) = 1;  // CLEAR
  Watch();
  REG(RTC0 + 0x004) = 1;  // STOP
  results[at++] = COUNTER;
  REG(RTC0 + 0x508) = 0;
  REG(RTC0 + 0x00C) = 1;  // TRIGOVRFLW
  results[at++] = COUNTER;
  REG(RTC0 + 0x000) = 1;
  for (uint32_t i = 0; i < 18; i++) Watch();
  REG(RTC0 + 0x540) = 100;
  REG(RTC0 + 0x304) = 1u << 16;
  __asm volatile("wfi");
  results[at++] = COUNTER;
  Print("counted\r\n");
}
