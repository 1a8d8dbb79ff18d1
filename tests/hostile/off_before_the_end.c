// The chip is switched off before the result is printed.
#include "image.h"

void Behave(void) {
  REG(0x50004500) = HOSTILE;  // REGULATORS.SYSTEMOFF
  DSB();
}
