// LFCLK right after its start.
#include "image.h"

void Behave(void) {
  REG(0x50005104) = 0;  // EVENTS_LFCLKSTARTED
  REG(0x50005008) = 1;  // TASKS_LFCLKSTART
  uint32_t started = REG(0x50005104);
  PrintWord("at once", started);
  while (!REG(0x50005104)) {
  }
}
