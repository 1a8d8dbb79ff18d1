// FAULTMASK set and cleared in a loop: instructions that the machine carries out one by one.
#include "machine.h"

void Main(void) {
  UartStart();
  for (uint32_t i = 0; i < 20; i++) {
    __asm volatile("cpsid f\n adds r0, r0, #1\n adds r0, r0, #1\n cpsie f" ::: "r0", "cc");
    results[0] = i;
  }
  Print("masked\r\n");
}
