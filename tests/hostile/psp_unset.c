// A switch to the process stack before its pointer is set.
#include "image.h"

__attribute__((used)) static void Work(void) {
  volatile uint32_t words[16];
  for (int i = 0; i < 16; i++) words[i] = (uint32_t)i;
  PrintWord("words", words[15]);
}

static uint64_t stack[64];

__attribute__((naked)) void Behave(void) {
#if !HOSTILE
  __asm volatile("msr psp, %0" : : "r"(stack + 64));
#endif
  __asm volatile(
      "push {r4, lr}\n"
      "movs r0, #2\n msr control, r0\n isb\n"
      "bl Work\n"
      "movs r0, #0\n msr control, r0\n isb\n"
      "pop {r4, pc}");
  (void)stack;
}
