// A byte is stored to a register of a peripheral, which takes words.
#include "image.h"

void Behave(void) {
  const uint32_t enable = 0x50009500u;  // UARTE1.ENABLE
  if (HOSTILE) {
    *(volatile uint8_t *)enable = 8;
  } else {
    REG(enable) = 8;
  }
}
