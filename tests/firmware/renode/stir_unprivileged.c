// STIR by unprivileged code with USERSETMPEND, under an MPU without a region for it.
#include "traps.h"

static volatile uint32_t taken;

void Irq0(void) { taken = 1; }

static void Region(uint32_t number, uint32_t base, uint32_t limit, uint32_t rights) {
  REG(0xE000ED98) = number;
  REG(0xE000ED9C) = base | rights;
  REG(0xE000EDA0) = limit | 1;
}

void Behave(void) {
  CCR |= 2;  // USERSETMPEND
  Region(0, 0x00000000, 0x000FFFE0, 6);
  Region(1, 0x20000000, 0x2003FFE0, 2);
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000ED94) = 5;
  DSB();
  Unprivileged();
  __asm volatile("str.w %0, [%1]\n dsb\n isb" ::"r"(IRQ0), "r"(0xE000EF00) : "memory");
  Privileged();
  REG(0xE000ED94) = 0;
  DSB();
  PrintWord("taken", taken);
  PrintWord("traps", traps);
}
