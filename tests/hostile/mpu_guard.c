// a stack that grows into a read-only region.
#include "image.h"

__attribute__((noinline)) static uint32_t Deeper(uint32_t left) {
  volatile uint32_t room[16];
  room[0] = left;
  return left ? Deeper(left - 1) + room[0] : 0;
}

void Behave(void) {
  uint32_t sp;
  __asm volatile("mov %0, sp" : "=r"(sp));
  REG(0xE000EDC0) = 0x44;
  REG(0xE000ED98) = 0;
  REG(0xE000ED9C) = ((sp - 4096) & ~31u) | 2u << 1;
  REG(0xE000EDA0) = ((sp - 2048) & ~31u) | 1u;
  REG(0xE000ED94) = 5;
  DSB();
  PrintWord("depth", Deeper(HOSTILE ? 64 : 2));
  REG(0xE000ED94) = 0;
}
