// STIR names a secure interrupt: nothing comes of it.
#include "image.h"

void Behave(void) {
  REG(0xE000EF00) = IRQ_SECURE;
  __asm volatile("dsb\n isb");
  PrintWord("secure", SecureTaken());
}
