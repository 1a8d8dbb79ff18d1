// SCR.SLEEPONEXIT is banked.
#include "image.h"

void Behave(void) {
  REG(0xE000ED10) = 1u << 1;
  PrintWord("non-secure", REG(0xE000ED10) >> 1 & 1);
  PrintWord("secure", SecureRegister(0xE000ED10) >> 1 & 1);
}
