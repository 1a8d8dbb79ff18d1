// Unaligned accesses and divisions by zero.
#include "witness.h"

static uint32_t memory[16] __attribute__((aligned(32)));

// One access at `memory` + `offset`, with the address in r0.
#define AT(rule, offset, code)                                                  \
  do {                                                                          \
    __asm volatile("mov r0, %0\n" code ::"r"((uint32_t)memory + (offset))       \
                   : "r0", "r1", "r2", "r3", "s0", "s1", "s2", "s3", "memory"); \
    Tell(rule, Caught());                                                       \
  } while (0)

void Main(void) {
  AT("ldrd", 1, "ldrd r1, r2, [r0]");
  AT("ldrd_aligned", 4, "ldrd r1, r2, [r0]");
  AT("strd", 2, "strd r1, r2, [r0]");
  AT("ldm", 2, "ldmia.w r0, {r1, r2}");
  AT("ldm_narrow", 1, "ldmia r0!, {r1, r2}");
  AT("stm", 3, "stmia.w r0, {r1, r2}");
  AT("vldr", 2, "vldr s0, [r0]");
  AT("vldr_double", 2, "vldr d0, [r0]");
  AT("vldr_double_at_4", 4, "vldr d0, [r0]");
  AT("vstr", 1, "vstr s0, [r0]");
  AT("vldm", 2, "vldmia r0, {s0-s3}");
  AT("vstm", 2, "vstmia r0, {s0-s3}");
  AT("ldrex", 2, "ldrex r1, [r0]");
  AT("ldrexh", 1, "ldrexh r1, [r0]");
  AT("lda", 2, "lda r1, [r0]");
  AT("stl", 2, "stl r1, [r0]");
  AT("ldr", 1, "ldr r1, [r0]");
  AT("ldrh", 1, "ldrh r1, [r0]");
  AT("str", 3, "str r1, [r0]");
  CCR |= 8;
  BARRIER();
  AT("ldr_trapped", 1, "ldr r1, [r0]");
  AT("ldrh_trapped", 1, "ldrh r1, [r0]");
  AT("ldrsh_trapped", 3, "ldrsh.w r1, [r0]");
  AT("str_trapped", 2, "str r1, [r0]");
  AT("strh_trapped", 1, "strh r1, [r0]");
  AT("ldr_index_trapped", 1, "movs r3, #4\n ldr r1, [r0, r3]");
  AT("ldrb_trapped", 1, "ldrb r1, [r0]");
  AT("ldrt_trapped", 1, "ldrt r1, [r0]");
  CCR &= ~8u;
  BARRIER();
  memory[0] = 0x01234567;
  uint32_t result;
  __asm volatile("movs r1, #0\n movs r2, #9\n sdiv %0, r2, r1" : "=r"(result)::"r1", "r2");
  Tell("sdiv_untrapped", Caught() ? 0xFFFFFFFF : result);
  CCR |= 16;
  BARRIER();
  __asm volatile("movs r1, #0\n movs r2, #9\n sdiv r3, r2, r1" ::: "r1", "r2", "r3");
  Tell("sdiv_trapped", Caught());
  __asm volatile("movs r1, #0\n movs r2, #9\n udiv r3, r2, r1" ::: "r1", "r2", "r3");
  Tell("udiv_trapped", Caught());
  __asm volatile("movs r1, #0\n movs r2, #9\n cmp r1, #1\n it eq\n udiveq r3, r2, r1" ::
                     : "r1", "r2", "r3", "cc");
  Tell("udiv_not_executed", Caught());
}
