// MSR APSR_nzcvq of unprivileged code sets the flags.
#include "traps.h"

void Behave(void) {
  uint32_t flags;
  Unprivileged();
  __asm volatile("cmp r0, r0\n msr apsr_nzcvq, %1\n mrs %0, apsr"
                 : "=r"(flags)
                 : "r"(0xB0000000)
                 : "cc");
  Privileged();
  PrintWord("flags", flags & 0xF0000000);
}
