// AIRCR.PRIGROUP is banked.
#include "image.h"

void Behave(void) {
  REG(0xE000ED0C) = 0x05FA0000 | 3u << 8;
  PrintWord("non-secure", REG(0xE000ED0C) >> 8 & 7);
  PrintWord("secure", SecureRegister(0xE000ED0C) >> 8 & 7);
}
