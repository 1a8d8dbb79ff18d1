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
      "mov r4, sp\n mov r5, lr\n"
      "movs r0, #2\n msr control, r0\n isb\n"
      "push {r4, r5}\n bl Work\n pop {r4, r5}\n"
      "movs r0, #0\n msr control, r0\n isb\n"
      "bx r5");
  (void)stack;
}
