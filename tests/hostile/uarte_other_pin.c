// The bytes leave through P0.27, at which the DK's console does not listen.
#include "image.h"

void Behave(void) {
  REG(UARTE0 + 0x500) = 0;
  REG(UARTE0 + 0x50C) = HOSTILE ? 27 : 29;  // PSEL.TXD
  REG(UARTE0 + 0x500) = 8;
}
