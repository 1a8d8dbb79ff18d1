// APSR.GE of UADD8, as the image itself reads it.
#include "image.h"

void Behave(void) {
  uint32_t flags;
  __asm volatile("uadd8 %0, %1, %2\n mrs %0, apsr"
                 : "=&r"(flags)
                 : "r"(0x00FF00FF), "r"(0x01010101));
  PrintWord("ge", flags >> 16 & 15);
}
