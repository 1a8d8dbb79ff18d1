// Stores of every form that pend an interrupt: each is carried out once, with all that it does
// beside.
#include "machine.h"

#define ISPR0 0xE000E200u
#define BIT (1u << 27)

static volatile uint32_t taken;

void Egu0(void) { taken++; }

// One store to ISPR0 through r1; what r1 is then, and the interrupts so far.
#define STORE(before, instruction)                                        \
  do {                                                                    \
    register uint32_t base __asm__("r1") = ISPR0 - (before);              \
    register uint32_t value __asm__("r2") = BIT, other __asm__("r3") = 0; \
    __asm volatile(instruction "\n nop\n nop"                             \
                   : "+r"(base)                                           \
                   : "r"(value), "r"(other)                               \
                   : "memory", "cc", "r5", "r6");                         \
    results[2 * count] = base - ISPR0;                                    \
    results[2 * count++ + 1] = taken;                                     \
  } while (0)

void Main(void) {
  uint32_t count = 0;
  UartStart();
  Print("stores\r\n");
  NVIC_ISER(27) = BIT;
  STORE(0, "str r2, [r1]");
  STORE(8, "str r2, [r1, #8]");
  STORE(8, "movs r5, #8\n str r2, [r1, r5]");
  STORE(512, "str.w r2, [r1, #512]");
  STORE(8, "movs r5, #2\n str.w r2, [r1, r5, lsl #2]");
  STORE(0u - 4, "str r2, [r1, #-4]");
  STORE(0, "str r2, [r1], #4");
  STORE(4, "str r2, [r1, #4]!");
  STORE(0, "strd r2, r3, [r1]");
  STORE(0, "stmia r1!, {r2, r3}");
  STORE(0, "cmp r3, #0\n it eq\n streq r2, [r1]");
  STORE(0, "cmp r3, #1\n itt ne\n strne r2, [r1]\n addne r1, r1, #12");
  STORE(0, "str r2, [r1]\n push {r2}\n pop {r5}");
  results[2 * count] = count;
}
