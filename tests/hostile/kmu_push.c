// KMU pushes a key into CryptoCell: neither has a model.
#include "image.h"

void Behave(void) {
  if (HOSTILE) REG(0x50039000) = 1;  // KMU.TASKS_PUSH_KEYSLOT
}
