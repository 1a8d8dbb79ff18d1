// A task of a peripheral without a model is triggered by an event, through DPPI.
#include "image.h"

void Behave(void) {
  REG(0x50021000 + 0x088) = 0x80000003;                      // PWM0.SUBSCRIBE_SEQSTART0: channel 3
  REG(0x5001B000 + 0x180) = 0x80000000 | (HOSTILE ? 3 : 4);  // EGU0.PUBLISH_TRIGGERED0
  REG(0x50017504) = 3u << 3;                                 // DPPIC.CHENSET: channels 3 and 4
  REG(0x5001B000) = 1;                                       // EGU0.TASKS_TRIGGER0
}
