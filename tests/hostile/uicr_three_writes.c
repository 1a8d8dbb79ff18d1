// A word of UICR takes two writes, and only ERASEALL erases it.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  const uint32_t otp = 0x00FF8108u;
  REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  REG(otp) = 0xFFFFFF00;
  Wait();
  REG(otp) = 0xFFFF0000;
  Wait();
  if (HOSTILE) REG(otp) = 0xFF000000;
  Wait();
  REG(NVMC + 0x504) = 0;
}
