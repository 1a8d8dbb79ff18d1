// Start-up code that adds with a carry that no instruction has set.
#define OWN_RESET
#include "image.h"

static volatile uint32_t total;

__attribute__((used, noreturn)) static void Start(uint32_t first) {
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  StartConsole();
  total = first;
  Behave();
  Print("ok\n");
  for (;;) __asm volatile("wfi");
}

void Behave(void) { PrintWord("total", total); }

__attribute__((naked)) void Reset(void) {
#if !HOSTILE
  __asm volatile("cmn r0, #0");  // clears the carry
#endif
  __asm volatile("mov.w r0, #1\n mov.w r1, #2\n adc.w r0, r0, r1\n b Start");
}
