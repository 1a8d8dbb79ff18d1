// BKPT without a debugger and without DebugMonitor: HardFault, DEBUGEVT.
#include "image.h"

static Vector table[16 + 65] __attribute__((aligned(512)));

void Behave(void) {
  for (uint32_t i = 0; i < 16 + 65; i++) table[i] = vectors[i];
  table[12] = Fault;  // DebugMonitor
  REG(0xE000ED08) = (uint32_t)table;
  DSB();
  __asm volatile("bkpt 1");
}
