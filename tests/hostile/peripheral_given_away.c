// A peripheral that the SPU made non-secure does not answer at its secure address any more.
#include "image.h"

void Behave(void) {
  REG(0x50003800 + 4 * 15) = 0;  // SPU.PERIPHID[15].PERM: TIMER0, non-secure
  DSB();
  REG((HOSTILE ? 0x5000F000u : 0x4000F000u) + 0x508) = 3;  // TIMER0.BITMODE
}
