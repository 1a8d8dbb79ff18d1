// A PWM that is started: no model gives its waveform. The twin stops one that does not run.
#include "image.h"

void Behave(void) {
  REG(0x50021000 + (HOSTILE ? 0x008 : 0x004)) = 1;  // PWM0.TASKS_SEQSTART0, TASKS_STOP
}
