// A frame begins at a multiple of eight, and bit 9 of its xpsr says that a word was skipped.
#include "image.h"

volatile uint32_t frame_at, xpsr;

__attribute__((used)) static void Look(const uint32_t *frame) {
  frame_at = (uint32_t)frame;
  xpsr = frame[7];
}
__attribute__((naked)) void Svc(void) { __asm volatile("mov r0, sp\n b Look"); }

void Behave(void) {
  __asm volatile("sub sp, #4\n svc 0\n add sp, #4" ::: "memory");
  uint32_t skipped = xpsr >> 9 & 1;
  __asm volatile("svc 0" ::: "memory");
  PrintWord("aligned", frame_at % 8 == 0);
  PrintWord("skipped", skipped + 2 * (xpsr >> 9 & 1));
}
