// SPIM shares its registers with a UARTE and has no model: nothing is transferred.
#include "image.h"

void Behave(void) {
  REG(0x50009500) = HOSTILE ? 7 : 0;         // ENABLE: SPIM1
  if (HOSTILE) REG(0x50009000 + 0x010) = 1;  // TASKS_START
}
