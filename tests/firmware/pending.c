// Sleeps with interrupts masked while one is pending: WFI then does nothing.
#include "machine.h"

void Rtc0(void) { results[0]++; }

void Main(void) {
  UartStart();
  __asm volatile("cpsid i");
  NVIC_ISER(20) = 1u << 20;
  NVIC_ISPR(20) = 1u << 20;
  REG(RTC0 + 0x000) = 1;
  Print("pending\n");
  while (REG(RTC0 + 0x504) < 20) __asm volatile("dsb\n wfi\n isb\n yield");
  Print("waited\n");
  for (;;) {
#ifdef BARRIERS
    __asm volatile("dsb\n isb\n wfi\n nop\n yield");
#else
    __asm volatile("wfi");
#endif
  }
}
