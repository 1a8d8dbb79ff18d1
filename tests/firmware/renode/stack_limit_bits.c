// PSPLIM and MSPLIM hold multiples of eight.
#include "image.h"

void Behave(void) {
  uint32_t psplim, msplim;
  __asm volatile(
      "msr psplim, %2\n mrs %0, psplim\n msr psplim, %3\n"
      "msr msplim, %2\n mrs %1, msplim\n msr msplim, %3"
      : "=&r"(psplim), "=&r"(msplim)
      : "r"(0x20000007), "r"(0));
  PrintWord("psplim", psplim);
  PrintWord("msplim", msplim);
}
