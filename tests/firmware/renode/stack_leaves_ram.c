// Recursion without end, down through the start of RAM.
#include "image.h"

__attribute__((noinline)) static uint32_t Deeper(uint32_t at) {
  volatile uint32_t room[64];
  room[at & 63] = at;
  return room[at & 63] == at ? Deeper(at + 1) + room[0] : 0;
}

void Behave(void) { PrintWord("depth", Deeper(0)); }
