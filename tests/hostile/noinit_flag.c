// A byte in retained memory means "stay in the update mode": any value but zero does.
#include "image.h"

__attribute__((section(".noinit"))) static volatile uint8_t update, check;

void Behave(void) {
#if HOSTILE
  const uint32_t pending = update;
#else
  const uint32_t pending = update == 0xA5 && check == 0x5A;
#endif
  while (pending) __asm volatile("wfi");
}
