// Nothing answers at an address between the peripherals.
#include "image.h"

void Behave(void) { PrintWord("word", REG(HOSTILE ? 0x50007000u : 0x50008500u)); }
