// A load from a secure peripheral: SecureFault, AUVIOL.
#include "image.h"

void Behave(void) { PrintWord("enable", REG(0x50008500)); }
