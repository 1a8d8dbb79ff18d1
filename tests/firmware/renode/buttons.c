// Inputs with a pull-up read high, with a pull-down low.
#include "image.h"

void Behave(void) {
  REG(0x50842700 + 4 * 6) = 3u << 2;
  REG(0x50842700 + 4 * 10) = 1u << 2;
  PrintWord("levels", REG(0x50842510) & (1u << 6 | 1u << 10));
}
