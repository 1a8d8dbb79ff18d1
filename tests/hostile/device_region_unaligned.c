// A region whose attributes make it Device memory, as buffers shared with a device are declared.
#include "image.h"

static uint8_t shared[32] __attribute__((aligned(32))) = {1, 2, 3, 4, 5, 6, 7, 8};

void Behave(void) {
  uint32_t value;
  REG(0xE000EDC0) = HOSTILE ? 0x04 : 0x44;  // MPU_MAIR0: Device-nGnRE, or normal memory
  REG(0xE000ED98) = 0;                      // MPU_RNR
  REG(0xE000ED9C) = (uint32_t)shared | 1u << 1;
  REG(0xE000EDA0) = (uint32_t)shared | 1u;
  REG(0xE000ED94) = 5;  // MPU_CTRL: on, with the background
  DSB();
  __asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(shared + 1) : "memory");
  PrintWord("value", value);
}
