// GPIOTE1 exists in the non-secure window only.
#include "image.h"

void Behave(void) {
  const uint32_t gpiote1 = HOSTILE ? 0x50031000u : 0x40031000u;
  REG(gpiote1 + 0x510) = 0;  // CONFIG[0]
}
