// DSP instructions: SSAT and Q, QADD, SMLAD, USAD8.
#include "image.h"

void Behave(void) {
  uint32_t sat, sum, dot, sad, flags;
  __asm volatile("ssat %0, #8, %2\n mrs %1, apsr" : "=r"(sat), "=r"(flags) : "r"(1000));
  __asm volatile("qadd %0, %1, %2" : "=r"(sum) : "r"(0x7FFFFFFF), "r"(1));
  __asm volatile("smlad %0, %1, %2, %3" : "=r"(dot) : "r"(0x00030002), "r"(0x00050007), "r"(1));
  __asm volatile("usad8 %0, %1, %2" : "=r"(sad) : "r"(0x01020304), "r"(0x04030201));
  PrintWord("ssat", sat);
  PrintWord("q", flags >> 27 & 1);
  PrintWord("qadd", sum);
  PrintWord("smlad", dot);
  PrintWord("usad8", sad);
}
