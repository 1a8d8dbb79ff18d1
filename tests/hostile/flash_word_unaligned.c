// A word is stored to flash at an address that is not a multiple of 4.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  REG(PAGE + (HOSTILE ? 2 : 4)) = 0x12345678;
  Wait();
  REG(NVMC + 0x504) = 0;
}
