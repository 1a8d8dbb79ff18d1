// A counter in flash is counted up without an erase: a write cannot set bits.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  REG(NVMC + 0x504) = 1;  // CONFIG: Wen
  REG(PAGE) = 0x00000101;
  Wait();
  if (!HOSTILE) {
    REG(NVMC + 0x504) = 2;  // Een
    REG(PAGE) = 0xFFFFFFFF;
    Wait();
    REG(NVMC + 0x504) = 1;
  }
  REG(PAGE) = 0x00000202;
  Wait();
  REG(NVMC + 0x504) = 0;
  if (REG(PAGE) == 0x202) return;
  Print("the counter is lost\n");
  for (;;) __asm volatile("wfi");
}
