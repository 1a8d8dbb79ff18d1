// Regions that the MPU makes Device memory.
#include "witness.h"

static uint32_t memory[16] __attribute__((aligned(64)));

void Main(void) {
  const uint32_t base = (uint32_t)memory;
  MPU_RNR = 0;
  MPU_RBAR = base | 1 << 1;
  MPU_RLAR = base | 1 << 1 | 1;  // AttrIndx 1
  MPU_MAIR0 = 0x0044;            // 1: Device-nGnRnE; 0: normal, not cached
  MPU_CTRL = 5;
  BARRIER();
  __asm volatile("ldr r1, [%0]" ::"r"(base + 4) : "r1");
  Tell("device_aligned", Caught());
  __asm volatile("ldr r1, [%0]" ::"r"(base + 1) : "r1");
  Tell("device_ldr", Caught());
  __asm volatile("strh r1, [%0]" ::"r"(base + 3) : "r1", "memory");
  Tell("device_strh", Caught());
  __asm volatile("ldrb r1, [%0]" ::"r"(base + 3) : "r1");
  Tell("device_ldrb", Caught());
  __asm volatile("ldr r1, [%0]" ::"r"(base + 33) : "r1");
  Tell("device_beside", Caught());
  MPU_RLAR = base | 1;  // AttrIndx 0
  BARRIER();
  __asm volatile("ldr r1, [%0]" ::"r"(base + 1) : "r1");
  Tell("device_normal", Caught());
}
