// Start-up code that takes r4 for zero.
#define OWN_RESET
#include "image.h"

static volatile uint32_t total;

__attribute__((used, noreturn)) static void Start(uint32_t first) {
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  StartConsole();
  total = first + 1;
  Behave();
  Print("ok\n");
  for (;;) __asm volatile("wfi");
}

void Behave(void) { PrintWord("total", total); }

__attribute__((naked)) void Reset(void) {
#if !HOSTILE
  __asm volatile("movs r4, #0");
#endif
  __asm volatile("mov r0, r4\n b Start");
}
