// A push below PSPLIM.
#include "image.h"

static uint64_t stack[64];

void Behave(void) {
  __asm volatile(
      "msr psplim, %0\n msr psp, %1\n msr control, %2\n isb\n push {r0-r7}\n pop {r0-r7}\n"
      "msr control, %3\n isb\n msr psplim, %3" ::"r"(stack + 32),
      "r"(stack + 33), "r"(2), "r"(0)
      : "memory");
}
