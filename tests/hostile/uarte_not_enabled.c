// STARTTX of a UARTE whose ENABLE is 0: nothing is sent, ENDTX never comes.
#include "image.h"

void Behave(void) {
  if (HOSTILE) REG(UARTE0 + 0x500) = 0;
}
