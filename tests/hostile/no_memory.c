// a load where nothing answers.
#include "image.h"

void Behave(void) {
  volatile uint32_t word = 7;
  volatile uint32_t *place = HOSTILE ? (volatile uint32_t *)0x2FFFFF00 : &word;
  PrintWord("word", *place);
}
