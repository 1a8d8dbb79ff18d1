// A load from secure RAM: SecureFault, AUVIOL with its address.
#include "image.h"

void Behave(void) { PrintWord("read", REG(0x20000000)); }
