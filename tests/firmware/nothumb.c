// Calls of addresses without the Thumb bit: of code, and of data that may not be run.
#include "machine.h"

#define CFSR REG(0xE000ED28)
#define MPU_CTRL REG(0xE000ED94)
#define MPU_RBAR REG(0xE000ED9C)
#define MPU_RLAR REG(0xE000EDA0)

static uint32_t data[8] __attribute__((aligned(32)));
static uint32_t count;

// Note what the frame says, and go back to the caller.
__attribute__((used)) static void Note(uint32_t *frame) {
  results[count++] = CFSR;
  results[count++] = frame[6];
  results[count++] = frame[7] >> 24 & 1;
  CFSR = ~0u;
  frame[6] = frame[5] & ~1u;
  frame[7] |= 1 << 24;
}

__attribute__((naked)) void UsageFault(void) {
  __asm volatile("mrs r0, msp\n push {r4, lr}\n bl Note\n pop {r4, pc}");
}

__attribute__((naked)) void MemManage(void) { __asm volatile("b UsageFault"); }

static void Code(void) {}

void Main(void) {
  void (*volatile code)(void) = (void (*)(void))((uint32_t)Code & ~1u);
  void (*volatile never)(void) = (void (*)(void))data;
  UartStart();
  Print("calls\r\n");
  SCB_SHCSR = 1 << 18 | 1 << 16;
  code();
  never();
  results[count++] = (uint32_t)code;
  results[count++] = (uint32_t)never;
  MPU_RBAR = (uint32_t)data | 1;  // execute never
  MPU_RLAR = (uint32_t)data | 1;
  MPU_CTRL = 5;
  __asm volatile("dsb\n isb");
  never();
}
