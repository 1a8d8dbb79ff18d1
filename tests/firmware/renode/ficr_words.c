// FICR above its facts is erased; a store to it changes nothing.
#include "image.h"

void Behave(void) {
  PrintWord("trim", REG(0x00FF0300));
  PrintWord("flash", REG(0x00FF0224));
}
