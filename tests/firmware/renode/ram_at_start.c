// RAM that nobody wrote: a pattern of the run's seed, not zeros.
#include "image.h"

void Behave(void) {
  uint32_t sum = 0;
  for (uint32_t at = 0x20020000; at < 0x20020400; at += 4) sum = sum * 31 + REG(at);
  PrintWord("sum", sum);
}
