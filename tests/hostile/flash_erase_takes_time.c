// A control loop must run every 10 ms; an erase of a page stops the core for 87 ms.
// The twin erases in parts of 4 ms.
#include "image.h"
#define NVMC 0x50039000u
#define PAGE 0x000F0000u

__attribute__((noipa)) static void TooLate(void) { __builtin_trap(); }

static void Wait(void) {
  while (!REG(NVMC + 0x400)) {
  }
}

void Behave(void) {
  const uint32_t timer = 0x5000F000u;
  uint32_t late = 0;
  REG(timer + 0x508) = 3;  // BITMODE: 32 bits
  REG(timer + 0x510) = 4;  // PRESCALER: 1 MHz
  REG(timer + 0x000) = 1;
  REG(NVMC + 0x51C) = 4;                // ERASEPAGEPARTIALCFG
  REG(NVMC + 0x504) = HOSTILE ? 2 : 4;  // CONFIG: Een or PEen
  for (int part = 0; part < (HOSTILE ? 1 : 22); part++) {
    REG(timer + 0x00C) = 1;  // CLEAR
    REG(PAGE) = 0xFFFFFFFF;
    Wait();
    REG(timer + 0x040) = 1;  // CAPTURE[0]
    late |= REG(timer + 0x540) > 10000;
  }
  REG(NVMC + 0x504) = 0;
  REG(timer + 0x004) = 1;  // STOP
  if (late) TooLate();
}
