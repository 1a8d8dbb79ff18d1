// Five texts, five STARTTX in a row: each cuts off the one before.
#include "image.h"

static char lines[5][8] = {"one\n", "two\n", "three\n", "four\n", "five\n"};

void Behave(void) {
  for (uint32_t i = 0; i < 5; i++) {
    uint32_t size = 0;
    while (lines[i][size]) size++;
    REG(UARTE0 + 0x544) = (uint32_t)lines[i];
    REG(UARTE0 + 0x548) = size;
    REG(UARTE0 + 0x120) = 0;
    REG(UARTE0 + 0x008) = 1;
    while (!HOSTILE && !REG(UARTE0 + 0x120)) {
    }
  }
  while (!REG(UARTE0 + 0x120)) {
  }
}
