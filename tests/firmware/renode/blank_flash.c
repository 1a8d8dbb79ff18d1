// Flash that nobody wrote.
#include "image.h"

void Behave(void) { PrintWord("flash", REG(0x00080000)); }
