// Which unaligned accesses trap: LDR with UNALIGN_TRP, LDM, LDRD, VLDR, LDREX, a word of a device.
#include "traps.h"

void Behave(void) {
  CCR |= 8;
  DSB();
  __asm volatile("ldr.w r1, [%0]\n nop.w" ::"r"(0x20001001) : "r1");
  CCR &= ~8u;
  DSB();
  step = 1;
  __asm volatile("mov r0, %0\n ldmia.w r0, {r1,r2}" ::"r"(0x20001002) : "r0", "r1", "r2");
  step = 2;
  __asm volatile("ldrd r1, r2, [%0]" ::"r"(0x20001001) : "r1", "r2");
  step = 3;
  __asm volatile("vldr s0, [%0]" ::"r"(0x20001002) : "s0");
  step = 4;
  __asm volatile("ldrex r1, [%0]" ::"r"(0x20001002) : "r1");
  step = 5;
  __asm volatile("ldr.w r1, [%0]" ::"r"(0x50008525) : "r1");
  PrintWord("traps", traps);
}
