// A word of flash takes two writes (nWRITE) before its page must be erased.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  REG(PAGE) = 0xFFFFFF00;
  Wait();
  REG(PAGE) = 0xFFFF0000;
  Wait();
  REG(PAGE + (HOSTILE ? 0 : 4)) = 0xFF000000;
  Wait();
  REG(NVMC + 0x504) = 0;
}
