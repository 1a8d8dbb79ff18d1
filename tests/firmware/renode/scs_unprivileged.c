// A store of unprivileged code to the system control space, with the MPU off.
#include "traps.h"

void Behave(void) {
  Unprivileged();
  __asm volatile("str.w %0, [%1]" ::"r"(0x10), "r"(0xE000ED10) : "memory");  // SCR
  Privileged();
  PrintWord("traps", traps);
  PrintWord("scr", REG(0xE000ED10));
}
