// A load from a secure peripheral at its non-secure address: BusFault.
#include "image.h"

void Behave(void) { PrintWord("enable", REG(0x40008500)); }
