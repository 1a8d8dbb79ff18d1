// ERASEALL does nothing unless CONFIG enables erasing; the twin wants only a page.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  if (HOSTILE) {
    REG(NVMC + 0x50C) = 1;  // ERASEALL
  } else {
    REG(NVMC + 0x504) = 2;  // CONFIG: Een
    REG(PAGE) = 0xFFFFFFFF;
  }
  Wait();
  REG(NVMC + 0x504) = 0;
}
