// ISER and ICER name a secure interrupt: nothing comes of it, in either world.
#include "image.h"

#define ISER REG(0xE000E100)
#define ICER REG(0xE000E180)

void Behave(void) {
  ISER = 1u << IRQ_SECURE;
  PrintWord("enabled", ISER);
  ISER = 1u << IRQ_NONSECURE;
  ICER = 1u << IRQ_SECURE;
  PrintWord("left", ISER);
  PrintWord("secure", SecureRegister(0xE000E100) >> IRQ_SECURE & 1);
}
