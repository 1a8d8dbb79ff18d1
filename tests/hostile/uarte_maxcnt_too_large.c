// TXD.MAXCNT of 0x2003 bytes: the register has 13 bits, 3 bytes are sent.
#include "image.h"

static volatile char buffer[0x2003];

void Behave(void) {
  for (uint32_t i = 0; i < sizeof buffer; i++) buffer[i] = '\n';
  for (uint32_t at = 0; at < sizeof buffer;) {
    uint32_t most = HOSTILE ? sizeof buffer : 4000, left = sizeof buffer - at;
    uint32_t size = left < most ? left : most;
    REG(UARTE0 + 0x544) = (uint32_t)(buffer + at);
    REG(UARTE0 + 0x548) = size;
    REG(UARTE0 + 0x120) = 0;
    REG(UARTE0 + 0x008) = 1;
    while (!REG(UARTE0 + 0x120)) {
    }
    at += size;
  }
}
