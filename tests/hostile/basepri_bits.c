// BASEPRI with bits that three bits of priority do not have.
#include "image.h"

void Behave(void) {
  uint32_t mask;
  __asm volatile("msr basepri, %1\n mrs %0, basepri" : "=r"(mask) : "r"(HOSTILE ? 0x5F : 0x40));
  if (HOSTILE && mask != 0x5F) __asm volatile("udf 1");  // the application expects its value back
  __asm volatile("msr basepri, %0" ::"r"(0));
}
