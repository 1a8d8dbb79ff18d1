// Hardware flow control, and CTS at a pin that nothing drives low: no byte leaves.
#include "image.h"

void Behave(void) {
  REG(UARTE0 + 0x500) = 0;
  REG(UARTE0 + 0x510) = 26;               // PSEL.CTS
  REG(UARTE0 + 0x56C) = HOSTILE ? 1 : 0;  // CONFIG.HWFC
  REG(UARTE0 + 0x500) = 8;
}
