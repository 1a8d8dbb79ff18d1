// Recursion that is too deep; a stack limit ends it if results[1] is not 0, else nothing.
#include "machine.h"

__attribute__((noinline)) static uint32_t Recurse(uint32_t depth) {
  volatile uint32_t room[64];
  room[depth & 63] = depth;
  if (depth == results[2] - 1) return 0;
  return Recurse(depth + 1) + room[(depth + 1) & 63];
}

__attribute__((noinline)) static void Start(void) { results[0] = Recurse(0); }

void Main(void) {
  UartStart();
  Print("overflow\r\n");
  if (results[1]) __asm volatile("msr msplim, %0" ::"r"(0x2000F000));
  Start();
}
