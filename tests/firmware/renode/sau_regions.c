// SAU_TYPE: the chip's SAU has no regions.
#include "image.h"

void Behave(void) { PrintWord("regions", REG(0xE000EDD4)); }
