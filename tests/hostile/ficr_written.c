// FICR cannot be written.
#include "image.h"

void Behave(void) {
  volatile uint32_t copy = REG(0x00FF0144);
#if HOSTILE
  REG(0x00FF0144) = copy;
#endif
  (void)copy;
}
