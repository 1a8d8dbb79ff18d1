// Each byte has a parity bit, which the DK's console takes for the stop bit.
#include "image.h"

void Behave(void) { REG(UARTE0 + 0x56C) = HOSTILE ? 0x0E : 0; }
