// A value is read back from below the stack pointer, where nothing was ever put.
#include "image.h"

void Behave(void) {
  uint32_t word;
#if HOSTILE
  __asm volatile("ldr %0, [sp, #-128]" : "=r"(word));
#else
  __asm volatile("mov %0, #7\n push {%0}\n ldr %0, [sp]\n add sp, #4" : "=r"(word));
#endif
  PrintWord("word", word);
}
