// A self-test that takes RAM for zeros behind the image's last variable.
#include "image.h"

void Behave(void) {
  volatile uint32_t *words = (volatile uint32_t *)0x20008000;
  uint32_t used = 0;
#if !HOSTILE
  for (int i = 0; i < 64; i++) words[i] = 0;
#endif
  for (int i = 0; i < 64; i++) used += words[i] != 0;
  if (used) __asm volatile("udf #0");
}
