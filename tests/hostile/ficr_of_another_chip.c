// FICR is read where the nRF52 has it.
#include "image.h"

void Behave(void) {
  const uint32_t part = REG(HOSTILE ? 0x10000100 : 0x00FF0140);
  PrintWord("part", part);
}
