// MVFR0, by which CMSIS finds the FPU.
#include "image.h"

void Behave(void) { PrintWord("mvfr0", REG(0xE000EF40)); }
