// A sum in an FP register that begins with what the register held.
#include "image.h"

void Behave(void) {
  uint32_t bits;
#if !HOSTILE
  __asm volatile("vmov s16, %0" : : "r"(0));
#endif
  __asm volatile("vmov s0, %1\n vadd.f32 s16, s16, s0\n vmov %0, s16"
                 : "=r"(bits)
                 : "r"(0x3F800000)
                 : "s0", "s16");
  PrintWord("bits", bits);
}
