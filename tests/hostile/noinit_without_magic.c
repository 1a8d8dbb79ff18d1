// A count of boots in memory that resets keep, without a mark that says whether it was ever set.
#include "image.h"

__attribute__((section(".noinit"))) static volatile uint32_t boots, mark;

void Behave(void) {
#if !HOSTILE
  if (mark != 0x600DB007) boots = 0;
  mark = 0x600DB007;
#endif
  boots += 1;
  PrintWord("boots", boots);
}
