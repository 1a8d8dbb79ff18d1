// I2S that is started: EasyDMA would fill the buffer of samples.
#include "image.h"

void Behave(void) {
  REG(0x50028000 + (HOSTILE ? 0x000 : 0x004)) = 1;  // I2S.TASKS_START, TASKS_STOP
}
