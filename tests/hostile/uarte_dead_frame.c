// The buffer is a local variable of a function that returns before the bytes have left.
#include "image.h"

__attribute__((noinline)) static void Start(void) {
  volatile char line[16] = "a local line\n";
  REG(UARTE0 + 0x544) = (uint32_t)line;
  REG(UARTE0 + 0x548) = 13;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  while (!HOSTILE && !REG(UARTE0 + 0x120)) {
  }
}

__attribute__((noinline)) static void UseStack(void) {
  volatile uint32_t words[16];
  for (uint32_t i = 0; i < 16; i++) words[i] = i;
  (void)words[0];
}

void Behave(void) {
  Start();
  UseStack();
  while (!REG(UARTE0 + 0x120)) {
  }
}
