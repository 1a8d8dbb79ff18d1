// Writes a register that the chip does not have.
#include "machine.h"

__attribute__((noipa)) static void Publish(void) { REG(RTC0 + 0x1F0) = 0; }

void Main(void) {
  UartStart();
  Publish();
  Print("end\n");
}
