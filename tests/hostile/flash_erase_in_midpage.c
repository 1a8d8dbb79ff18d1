// A page is erased by a store to its first word, not to any word of it.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  REG(NVMC + 0x504) = 2;  // CONFIG: Een
  REG(PAGE + (HOSTILE ? 0x100 : 0)) = 0xFFFFFFFF;
  Wait();
  REG(NVMC + 0x504) = 0;
}
