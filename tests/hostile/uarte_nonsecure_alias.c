// After a reset UARTE1 is secure, and does not answer at 0x4000_9000.
#include "image.h"

void Behave(void) {
  const uint32_t uarte1 = HOSTILE ? 0x40009000u : 0x50009000u;
  REG(uarte1 + 0x524) = 0x01D60000;  // BAUDRATE
}
