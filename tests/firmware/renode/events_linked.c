// EGU0's event triggers EGU1's task through DPPI.
#include "image.h"
#define EGU0 0x5001B000u
#define EGU1 0x5001C000u

void Behave(void) {
  REG(EGU0 + 0x180) = 1u << 31 | 3;  // PUBLISH_TRIGGERED[0]
  REG(EGU1 + 0x080) = 1u << 31 | 3;  // SUBSCRIBE_TRIGGER[0]
  REG(0x50017504) = 1u << 3;         // CHENSET
  REG(EGU0) = 1;
  DSB();
  PrintWord("event", REG(EGU1 + 0x100));
}
