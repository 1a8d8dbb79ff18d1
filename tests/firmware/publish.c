// Writes a register that no model in Renode has.
#include "machine.h"

__attribute__((noipa)) static void Publish(void) { REG(RTC0 + 0x184) = 0; }

void Main(void) {
  UartStart();
  Publish();
  Print("end\n");
}
