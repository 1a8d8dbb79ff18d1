// A model array without alignas is wherever the linker puts it; kernels read it by VLDMIA.
#include "image.h"

static const uint8_t model[80] __attribute__((aligned(4))) = {[3] = 0x3F, [2] = 0x80};

void Behave(void) {
  const uint8_t *table = model + (HOSTILE ? 1 : 0);
  float sum = 0;
  for (uint32_t i = 0; i < 4; i++, table += 16) {
    __asm volatile("vldmia %1, {s4-s7}\n vadd.f32 %0, %0, s4"
                   : "+t"(sum)
                   : "r"(table)
                   : "s4", "s5", "s6", "s7");
  }
  PrintWord("sum", (uint32_t)sum);
}
