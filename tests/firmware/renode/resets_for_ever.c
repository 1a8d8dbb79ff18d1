// Asks for a reset at each boot.
#include "image.h"

void Behave(void) {
  Print("boot\n");
  REG(0xE000ED0C) = 0x05FA0004;
  for (;;) {
  }
}
