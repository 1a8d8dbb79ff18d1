// Loads from registers of blocks that the chip has and few use.
#include "image.h"

void Behave(void) {
  REG(0x50004578);  // REGULATORS, DCDCEN
  REG(0x5000E400);  // SAADC, STATUS
  REG(0x50021500);  // PWM0, ENABLE
  REG(0x5002A300);  // IPC, INTEN
  Print("read\n");
}
