// PSEL.TXD is disconnected: the transfer ends as ever, and no pin moves.
#include "image.h"

void Behave(void) {
  REG(UARTE0 + 0x500) = 0;
  REG(UARTE0 + 0x50C) = HOSTILE ? 0xFFFFFFFF : 29;
  REG(UARTE0 + 0x500) = 8;
}
