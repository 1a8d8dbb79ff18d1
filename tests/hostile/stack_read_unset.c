// A local array is summed before all of it is set.
#include "image.h"

void Behave(void) {
  uint32_t words[8], sum = 0;
  __asm volatile("" : "=m"(words));  // the compiler takes it for set
#if !HOSTILE
  for (int i = 0; i < 8; i++) words[i] = 0;
#endif
  words[0] = 1;
  __asm volatile("" : "+m"(words));
  for (int i = 0; i < 8; i++) sum += words[i];
  PrintWord("sum", sum);
}
