// Two stop bits, the DK's console has one. A receiver would forgive it; the settings differ.
#include "image.h"

void Behave(void) { REG(UARTE0 + 0x56C) = HOSTILE ? 0x10 : 0; }
