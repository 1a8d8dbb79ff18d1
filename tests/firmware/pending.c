// Waits around WFI with interrupts masked while one is pending: WFI then does nothing.
#include "machine.h"

static volatile uint32_t done;

void Rtc0(void) { done = 1; }

void Main(void) {
  UartStart();
  __asm volatile("cpsid i");
  NVIC_ISER(20) = 1u << 20;
  NVIC_ISPR(20) = 1u << 20;
  LfclkStart();
  REG(RTC0 + 0x000) = 1;
  Print("pending\n");
  while (REG(RTC0 + 0x504) < 20) __asm volatile("dsb\n wfi\n isb\n yield");  // asks a device
  for (uint32_t i = 0; i < 100; i++) __asm volatile("wfi\n yield");          // counts
  Print("waited\n");
  while (!done) __asm volatile("dsb\n isb\n wfi\n nop\n yield\n nop");
}
