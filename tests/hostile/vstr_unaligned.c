// VSTR at an address that is not a multiple of 4.
#include "image.h"

static uint32_t words[8] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};

void Behave(void) {
  uint8_t *place = (uint8_t *)words + (HOSTILE ? 3 : 4);
  __asm volatile("vmov.f32 s0, #1.0\n vstr s0, [%0]" ::"r"(place) : "s0", "memory");
  PrintWord("word", words[1]);
}
