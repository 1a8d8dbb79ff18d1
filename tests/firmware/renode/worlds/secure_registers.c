// The SAU, and the alias of the non-secure registers, read 0.
#include "image.h"

void Behave(void) {
  PrintWord("sau", REG(0xE000EDD0));
  PrintWord("alias", REG(0xE002ED08));
}
