// A byte is stored to flash that may be written: only words can be.
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
    *(volatile uint8_t *)(PAGE + 1) = 0x12;
  } else {
    REG(PAGE) = 0xFFFF12FF;
  }
  Wait();
  REG(NVMC + 0x504) = 0;
  PrintWord("word", REG(PAGE));
}
