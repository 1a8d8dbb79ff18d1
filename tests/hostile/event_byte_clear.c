// An event is cleared by a byte store.
#include "image.h"

void Behave(void) {
  const uint32_t egu0 = 0x5001B000u;
  REG(egu0 + 0x000) = 1;  // TASKS_TRIGGER[0]
  if (HOSTILE) {
    *(volatile uint8_t *)(egu0 + 0x100) = 0;
  } else {
    REG(egu0 + 0x100) = 0;
  }
}
