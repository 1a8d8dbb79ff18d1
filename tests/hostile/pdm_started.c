// A microphone without a source of samples.
#include "image.h"

void Behave(void) {
  REG(0x50026000 + (HOSTILE ? 0x000 : 0x004)) = 1;  // PDM.TASKS_START, TASKS_STOP
}
