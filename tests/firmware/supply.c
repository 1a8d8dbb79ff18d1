// Notes what POWER kept over a reset, and a warning of power failure.
#include "machine.h"

__attribute__((section(".noinit"))) static volatile uint32_t warned;

void Power(void) {
  REG(0x50005108) = 0;  // EVENTS_POFWARN
  (void)REG(0x50005108);
  results[2] = warned = 1;
}

void Main(void) {
  UartStart();
  results[0] = REG(0x50005400);  // RESETREAS
  results[1] = REG(0x5000551C);  // GPREGRET
  results[2] = warned;
  REG(0x5000551C) = 0x5A;
  REG(0x50005304) = 1u << 2;  // INTENSET: POFWARN
  NVIC_ISER(5) = 1u << 5;
  Print("ready\r\n");
}
