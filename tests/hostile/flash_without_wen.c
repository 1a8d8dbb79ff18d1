// A store to flash that CONFIG does not allow to be written.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  if (!HOSTILE) REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  REG(PAGE) = 0x12345678;
  Wait();
  REG(NVMC + 0x504) = 0;
}
