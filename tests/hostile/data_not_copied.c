// A start-up that does not copy .data from flash: initialised variables are not.
#define OWN_RESET
#include "image.h"

static volatile uint32_t total = 41;

void Behave(void) {
  total += 1;
  PrintWord("total", total);
}

void Reset(void) {
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
#if !HOSTILE
  for (uint32_t *from = data_load, *to = data_start; to < data_end;) *to++ = *from++;
#endif
  StartConsole();
  Behave();
  Print("ok\n");
  for (;;) __asm volatile("wfi");
}
