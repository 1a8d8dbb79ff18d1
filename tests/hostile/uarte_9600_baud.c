// The bytes leave at 9600 baud, the DK's console is set to 115,200.
#include "image.h"

void Behave(void) { REG(UARTE0 + 0x524) = HOSTILE ? 0x00275000 : 0x01D60000; }
