// A block of a memory pool is used as if the pool gave zeros.
#include "image.h"

typedef struct {
  uint32_t count, values[7];
} Block;

__attribute__((section(".noinit"), aligned(8))) static uint8_t pool[4 * sizeof(Block)];
static uint32_t taken;

__attribute__((noipa)) static Block *Take(void) {
  Block *block = (Block *)(pool + taken);
  taken += sizeof *block;
#if !HOSTILE
  block->count = 0;
#endif
  return block;
}

void Behave(void) {
  Block *block = Take();
  block->count += 2;
  PrintWord("count", block->count);
}
