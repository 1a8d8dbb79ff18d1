// Notes what POWER and RAM kept over a reset.
#include "machine.h"

__attribute__((section(".noinit"))) static volatile uint32_t kept;

void Main(void) {
  UartStart();
  results[0] = REG(0x50005400);  // RESETREAS
  results[1] = REG(0x5000551C);  // GPREGRET
  results[2] = kept;
  REG(0x5000551C) = 0x5A;
  kept = 0x1234;
  Print("ready\r\n");
}
