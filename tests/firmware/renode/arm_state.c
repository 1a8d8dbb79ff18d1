// A branch to an even address.
#include "image.h"

__attribute__((noinline)) static void To(uint32_t address) {
  __asm volatile("blx %0" ::"r"(address) : "lr", "memory");
}

void Behave(void) { To((uint32_t)Behave & ~1u); }
