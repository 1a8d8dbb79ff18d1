// A start-up without its loop over .bss: static variables begin with whatever RAM held.
#define OWN_RESET
#include "image.h"

static uint32_t total;

void Behave(void) {
  total += 1;
  PrintWord("total", total);
}

void Reset(void) {
#if !HOSTILE
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
#endif
  StartConsole();
  Behave();
  Print("ok\n");
  for (;;) __asm volatile("wfi");
}
