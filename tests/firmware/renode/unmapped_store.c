// A store to where nothing is.
#include "image.h"

void Behave(void) {
  REG(0x30000000) = 1;
  DSB();
}
