// a stack pointer below MSPLIM.
#include "image.h"

__attribute__((noinline)) static uint32_t Deeper(uint32_t left) {
  volatile uint32_t room[16];
  room[0] = left;
  return left ? Deeper(left - 1) + room[0] : 0;
}

void Behave(void) {
  uint32_t sp;
  __asm volatile("mov %0, sp" : "=r"(sp));
  __asm volatile("msr msplim, %0" ::"r"((sp - 1024) & ~7u));
  PrintWord("depth", Deeper(HOSTILE ? 64 : 2));
}
