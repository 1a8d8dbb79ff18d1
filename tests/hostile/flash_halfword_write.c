// A halfword is stored to flash that may be written: only words can be.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  if (HOSTILE) {
    *(volatile uint16_t *)(PAGE + 2) = 0x1234;
  } else {
    REG(PAGE) = 0x1234FFFF;
  }
  Wait();
  REG(NVMC + 0x504) = 0;
  PrintWord("word", REG(PAGE));
}
