// A load from where nothing is.
#include "image.h"

void Behave(void) { PrintWord("read", REG(0x50002000)); }
