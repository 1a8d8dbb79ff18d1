// Sleeps a hundred times as a tickless kernel does: the alarm of each sleep is set anew.
#include "machine.h"

#define COUNTER REG(RTC0 + 0x504)
#define CC REG(RTC0 + 0x544)
#define COMPARE REG(RTC0 + 0x144)
#define COMPARE_BIT (1u << 17)

static volatile uint32_t alarms;

void Rtc0(void) {
  if (REG(RTC0 + 0x304) & COMPARE_BIT && COMPARE) {
    COMPARE = 0;
    alarms++;
  }
}

static void Sleep(uint32_t counts) {
  const uint32_t before = alarms;
  REG(RTC0 + 0x348) = COMPARE_BIT;  // EVTENCLR
  COMPARE = 0;
  CC = (COUNTER + counts) & 0xFFFFFF;
  REG(RTC0 + 0x344) = COMPARE_BIT;  // EVTENSET
  REG(RTC0 + 0x308) = COMPARE_BIT;  // INTENCLR
  REG(RTC0 + 0x304) = COMPARE_BIT;  // INTENSET
  while (alarms == before) __asm volatile("dsb\n wfi");
}

void Main(void) {
  UartStart();
  LfclkStart();
  NVIC_ISER(20) = 1u << 20;
  REG(RTC0 + 0x000) = 1;
  while (!COUNTER) {
  }
  const uint32_t start = COUNTER;
  for (uint32_t n = 0; n < 100; n++) Sleep(3 + n % 5);
  results[0] = (COUNTER - start) & 0xFFFFFF;
  results[1] = alarms;
  Print("end\n");
  for (;;) __asm volatile("wfi");
}
