// An ADC without a source of samples: the result is not zero, it does not come.
#include "image.h"

void Behave(void) {
  REG(0x5000E000 + (HOSTILE ? 0x004 : 0x008)) = 1;  // SAADC.TASKS_SAMPLE, TASKS_STOP
}
