// Instructions of the M33 whose results the host computes too, and a loop worth slicing.
#include "machine.h"

static uint32_t Mix(uint32_t seed, uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; i++) {
    seed = seed * 1664525u + 1013904223u;
    if (seed & 0x100) seed ^= i << 3;  // an IT block
  }
  return seed;
}

void Main(void) {
  UartStart();
  uint32_t a = 0x7FFF8001u, b = 0x0102FF7Eu, r, ge;
  __asm volatile("smlad %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(5));
  results[0] = r;
  __asm volatile("sxtb16 %0, %1" : "=r"(r) : "r"(b));
  results[1] = r;
  __asm volatile("ssat %0, #8, %1" : "=r"(r) : "r"(a));
  results[2] = r;
  __asm volatile("uadd8 %0, %2, %3\n sel %1, %2, %3" : "=&r"(ge), "=&r"(r) : "r"(a), "r"(b));
  results[3] = r;
  __asm volatile("vmov s0, %1\n vmov s1, %2\n vmov s2, %1\n vfma.f32 s2, s0, s1\n vmov %0, s2"
                 : "=r"(r)
                 : "r"(0x40490FDBu), "r"(0x3FC00000u)
                 : "s0", "s1", "s2");
  results[4] = r;
  __asm volatile("vmov s0, %1\n vrinta.f32 s1, s0\n vmov %0, s1"
                 : "=r"(r)
                 : "r"(0x40200000u)
                 : "s0", "s1");
  results[5] = r;
  __asm volatile("vmov s0, %1\n vsqrt.f32 s1, s0\n vmov %0, s1"
                 : "=r"(r)
                 : "r"(0x40000000u)
                 : "s0", "s1");
  results[6] = r;
  static uint32_t word;
  uint32_t refused;
  __asm volatile("ldrex %0, [%2]\n add %0, #3\n strex %1, %0, [%2]"
                 : "=&r"(r), "=&r"(refused)
                 : "r"(&word)
                 : "memory");
  results[7] = word << 8 | refused;
  results[8] = Mix(42, 3000);
  Print("compute done\r\n");
}
