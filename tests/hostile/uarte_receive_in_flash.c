// The buffer of a receiver lies in flash, which EasyDMA cannot write.
#include "image.h"

static const uint8_t kept[4] = {1, 2, 3, 4};
static volatile uint8_t buffer[4];

void Behave(void) {
  REG(UARTE0 + 0x534) = HOSTILE ? (uint32_t)kept : (uint32_t)buffer;
  REG(UARTE0 + 0x538) = 4;
  REG(UARTE0 + 0x110) = 0;
  REG(UARTE0 + 0x000) = 1;  // STARTRX
  REG(UARTE0 + 0x004) = 1;  // STOPRX
  while (!REG(UARTE0 + 0x144)) {
  }
}
