// An interrupt is enabled of a peripheral that will never raise it.
#include "image.h"

void Behave(void) {
  REG(0x50021304) = HOSTILE << 1;  // PWM0.INTENSET: STOPPED
}
