// A store to a read-only region, and LDRT of a privileged one.
#include "traps.h"

static void Region(uint32_t number, uint32_t base, uint32_t rights) {
  REG(0xE000ED98) = number;
  REG(0xE000ED9C) = base | rights;
  REG(0xE000EDA0) = (base + 0xFE0) | 1;
}

void Behave(void) {
  Region(0, 0x20011000, 6);
  Region(1, 0x20012000, 0);
  REG(0xE000ED94) = 5;
  DSB();
  __asm volatile("str.w r1, [%0]" ::"r"(0x20011000) : "memory");
  step = 1;
  __asm volatile("mov r0, #0\n ldrt r0, [%0]" ::"r"(0x20012000) : "r0");
  REG(0xE000ED94) = 0;
  DSB();
  PrintWord("traps", traps);
}
