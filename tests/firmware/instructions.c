// Each instruction once, on operands that the host puts into memory: it computes the same.
#include "machine.h"

volatile uint32_t operands[3];

static uint32_t count;

static void Note(uint32_t what) { results[count++] = what; }

#define THREE(instruction)                                                            \
  {                                                                                   \
    uint32_t r;                                                                       \
    __asm volatile(instruction " %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    Note(r);                                                                          \
  }
#define TWO(instruction)                                                                \
  {                                                                                     \
    uint32_t r;                                                                         \
    __asm volatile(instruction " %0, %1, %2" : "=r"(r) : "r"(a), "r"(b) : "r12", "cc"); \
    Note(r);                                                                            \
  }
#define ONE(instruction, more)                                  \
  {                                                             \
    uint32_t r;                                                 \
    __asm volatile(instruction ", %1" more : "=r"(r) : "r"(a)); \
    Note(r);                                                    \
  }
#define FLOATS(text)                                                                 \
  {                                                                                  \
    uint32_t r;                                                                      \
    __asm volatile("vmov s0, %1\n vmov s1, %2\n vmov s2, %3\n" text "\n vmov %0, s2" \
                   : "=r"(r)                                                         \
                   : "r"(a), "r"(b), "r"(c)                                          \
                   : "s0", "s1", "s2");                                              \
    Note(r);                                                                         \
  }

__attribute__((naked)) static uint32_t ByteTable(uint32_t index) {
  __asm volatile(
      "tbb [pc, r0]\n"
      "0: .byte (1f-0b)/2, (2f-0b)/2, (3f-0b)/2, (2f-0b)/2\n"
      "1: movs r0, #11\n bx lr\n"
      "2: movs r0, #22\n bx lr\n"
      "3: movs r0, #33\n bx lr" ::"r"(index));
}

__attribute__((naked)) static uint32_t HalfwordTable(uint32_t index) {
  __asm volatile(
      "tbh [pc, r0, lsl #1]\n"
      "0: .hword (1f-0b)/2, (2f-0b)/2, (3f-0b)/2, (2f-0b)/2\n"
      "1: movs r0, #11\n bx lr\n"
      "2: movs r0, #22\n bx lr\n"
      "3: movs r0, #33\n bx lr" ::"r"(index));
}

static void Integers(uint32_t a, uint32_t b, uint32_t c) {
  THREE("smlad")
  THREE("smladx")
  THREE("smlsd")
  THREE("usada8")
  THREE("smmlar")
  THREE("mls")
  TWO("sxtab16")
  TWO("sadd16")
  TWO("qadd")
  TWO("qsub")
  TWO("qadd8")
  TWO("sdiv")
  TWO("udiv")
  ONE("sxtb16 %0", "")
  ONE("uxtb16 %0", ", ror #8")
  ONE("ssat %0, #8", "")
  ONE("usat %0, #5", "")
  ONE("rbit %0", "")
  ONE("rev16 %0", "")
  ONE("clz %0", "")
  ONE("sbfx %0", ", #5, #9")
  TWO("uadd8 r12, %1, %2\n sel")
  TWO("ssub16 r12, %1, %2\n sel")
}

static void Blocks(uint32_t a, uint32_t b) {
  uint32_t r = 0, low, high;
  __asm volatile("cmp %1, %2\n itete gt\n addgt %0, #1\n addle %0, #2\n lslgt %0, #4\n lslle %0, #8"
                 : "+r"(r)
                 : "r"(a), "r"(b)
                 : "cc");
  Note(r);
  __asm volatile("smull %0, %1, %2, %3" : "=&r"(low), "=&r"(high) : "r"(a), "r"(b));
  Note(low ^ high);
  __asm volatile("mov %0, #5\n mov %1, #7\n smlald %0, %1, %2, %3"
                 : "=&r"(low), "=&r"(high)
                 : "r"(a), "r"(b));
  Note(low);
  Note(high);
  Note(ByteTable(a & 3));
  Note(HalfwordTable(b & 3));
}

static void Exclusives(uint32_t a) {
  static uint32_t word;
  uint32_t seen, first, second;
  word = a;
  // The second store has no reservation left.
  __asm volatile("ldrex %0, [%3]\n add %0, #3\n strex %1, %0, [%3]\n strex %2, %0, [%3]"
                 : "=&r"(seen), "=&r"(first), "=&r"(second)
                 : "r"(&word)
                 : "memory");
  Note(word);
  Note(first << 1 | second);
}

static void Floats(uint32_t a, uint32_t b, uint32_t c) {
  FLOATS("vfma.f32 s2, s0, s1")
  FLOATS("vfms.f32 s2, s0, s1")
  FLOATS("vadd.f32 s2, s0, s1")
  FLOATS("vdiv.f32 s2, s0, s1")
  FLOATS("vabs.f32 s0, s0\n vsqrt.f32 s2, s0")
  FLOATS("vmaxnm.f32 s2, s0, s1")
  FLOATS("vminnm.f32 s2, s0, s1")
  FLOATS("vrinta.f32 s2, s0")
  FLOATS("vrintn.f32 s2, s0")
  FLOATS("vrintp.f32 s2, s0")
  FLOATS("vrintm.f32 s2, s0")
  FLOATS("vcvta.s32.f32 s2, s0")
  FLOATS("vcvtn.s32.f32 s2, s0")
  FLOATS("vcvt.s32.f32 s2, s0")
  FLOATS("vcmp.f32 s0, s1\n vmrs APSR_nzcv, fpscr\n vselgt.f32 s2, s0, s1")
}

void Compute(void) {
  uint32_t a = operands[0], b = operands[1], c = operands[2];
  count = 0;
  Integers(a, b, c);
  Blocks(a, b);
  Exclusives(a);
  Floats(a, b, c);
}

void Main(void) {
  UartStart();
  Print("ready\r\n");
  Compute();
  Print("computed\r\n");
}
