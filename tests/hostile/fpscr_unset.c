// The FPU without automatic state preservation (FPCCR.ASPEN): its modes are those of power-on.
#include "image.h"

void Behave(void) {
  uint32_t mode;
  REG(0xE000EF34) &= ~(3u << 30);  // FPCCR: ASPEN, LSPEN
  DSB();
#if !HOSTILE
  __asm volatile("vmsr fpscr, %0" : : "r"(0));
#endif
  __asm volatile("vmrs %0, fpscr" : "=r"(mode));
  PrintWord("modes", mode & 0x07C00000);  // AHP, DN, FZ, RMode
}
