// APSR.GE over an exception whose handler changes it: SEL takes the bytes that UADD8 has marked.
#include "image.h"

void Svc(void) { __asm volatile("uadd8 r0, %0, %0" ::"r"(0xFFFFFFFF) : "r0"); }

void Behave(void) {
  uint32_t selected;
  __asm volatile("uadd8 %0, %1, %2\n svc 0\n sel %0, %3, %4"
                 : "=&r"(selected)
                 : "r"(0x00FF00FF), "r"(0x01010101), "r"(0x11111111), "r"(0x22222222)
                 : "memory");
  PrintWord("selected", selected);
}
