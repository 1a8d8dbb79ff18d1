// FICR is the factory's: not even CONFIG makes it writable.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  REG(HOSTILE ? 0x00FF0204u : PAGE) = 0;
  Wait();
  REG(NVMC + 0x504) = 0;
}
