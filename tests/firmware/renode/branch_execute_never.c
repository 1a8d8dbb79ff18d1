// A branch into the area of peripherals, where nothing may be executed.
#include "image.h"

__attribute__((noinline)) static void To(uint32_t address) {
  __asm volatile("blx %0" ::"r"(address) : "lr", "memory");
}

void Behave(void) { To(0x40000001); }
