// Button 1 (P0.06, pulled up) by GPIOTE: its falling edge drives LED 1 through DPPI, without the
// core, and counts in an interrupt; button 2 (P0.07) by SENSE and the PORT event.
#include "machine.h"

#define GPIOTE0 0x5000D000u
#define DPPIC 0x50017000u
#define P0 0x50842500u
#define LED1 2u
#define BUTTON1 6u
#define BUTTON2 7u
#define PULL_UP (3u << 2)
#define SENSE_LOW (3u << 16)
#define PUBLISH 0x80000000u

void Gpiote0(void) {
  if (REG(GPIOTE0 + 0x100)) {  // EVENTS_IN[0]
    REG(GPIOTE0 + 0x100) = 0;
    results[0]++;
  }
  if (REG(GPIOTE0 + 0x17C)) {  // EVENTS_PORT
    REG(GPIOTE0 + 0x17C) = 0;
    results[1]++;
    results[2] = REG(P0 + 0x020);  // LATCH
    REG(P0 + 0x020) = REG(P0 + 0x020);
  }
}

void Main(void) {
  UartStart();
  REG(P0 + 0x200 + 4 * BUTTON1) = PULL_UP;
  REG(P0 + 0x200 + 4 * BUTTON2) = PULL_UP | SENSE_LOW;
  REG(GPIOTE0 + 0x510) = 1u | BUTTON1 << 8 | 2u << 16;         // channel 0: event, high to low
  REG(GPIOTE0 + 0x514) = 3u | LED1 << 8 | 3u << 16 | 0 << 20;  // channel 1: task, toggles
  REG(GPIOTE0 + 0x180) = PUBLISH | 4;                          // IN[0] on DPPI channel 4
  REG(GPIOTE0 + 0x084) = PUBLISH | 4;                          // OUT[1] listens
  REG(DPPIC + 0x504) = 1u << 4;
  REG(GPIOTE0 + 0x304) = 1u | 1u << 31;  // interrupts of IN[0] and PORT
  NVIC_ISER(13) = 1u << 13;
  Print("ready\n");
  for (;;) __asm volatile("wfi");
}
