// CCR is banked: what one world clears, the other keeps.
#include "image.h"

void Behave(void) {
  CCR |= DIV_0_TRP;
  CCR &= ~DIV_0_TRP;
  PrintWord("secure", SecureRegister(0xE000ED14) & DIV_0_TRP);
}
