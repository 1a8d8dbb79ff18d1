// A vector table in RAM takes effect with VTOR.
#include "image.h"

static Vector table[16 + 65] __attribute__((aligned(512)));
static volatile uint32_t taken;

static void Other(void) { taken = 1; }

void Behave(void) {
  for (uint32_t i = 0; i < 16 + 65; i++) table[i] = vectors[i];
  table[11] = Other;
  REG(0xE000ED08) = (uint32_t)table;
  DSB();
  __asm volatile("svc 0" ::: "memory");
  PrintWord("taken", taken);
  PrintWord("vtor", REG(0xE000ED08) == (uint32_t)table);
}
