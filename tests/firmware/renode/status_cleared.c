// HFSR and CFSR are cleared, as Zephyr does at boot.
#include "image.h"

void Behave(void) {
  HFSR = 0xFFFFFFFF;
  CFSR = 0xFFFFFFFF;
  PrintWord("hfsr", HFSR);
}
