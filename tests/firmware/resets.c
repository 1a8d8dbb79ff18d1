// First boot writes UICR and resets, as SystemInit does; then the watchdog bites.
#include "machine.h"

void Main(void) {
  UartStart();
  uint32_t reasons = REG(0x50005400);
  if (REG(0x00FF8100) == 0xFFFFFFFFu) {
    REG(0x50039504) = 1;
    REG(0x00FF8100) = 0x12345678;
    REG(0x50039504) = 0;
    SCB_AIRCR = 0x05FA0004;
  }
  results[0] = REG(0x00FF8100);
  results[1] = reasons;
  if (!(reasons & 2)) {
    REG(0x50018504) = 32768;
    REG(0x50018000) = 1;
    for (;;) __asm volatile("wfi");
  }
  Print("resets done\r\n");
}
