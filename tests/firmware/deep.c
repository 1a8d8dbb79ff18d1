// A fault below calls, in an interrupt that came while a thread on the process stack held values in
// floating-point registers.
#include "machine.h"

static uint64_t stack[64];

__attribute__((noinline)) static uint32_t Divide(uint32_t value) {
  __asm volatile("udf 1");
  return value / 3;
}

__attribute__((noinline)) static uint32_t Handle(uint32_t value) {
  volatile uint32_t kept[4] = {value, 1, 2, 3};
  return Divide(kept[1]) + kept[2];
}

void HardFault(void) {
  for (;;) {
  }
}

void Egu0(void) {
  REG(EGU0 + 0x100) = 0;
  results[0] = Handle(results[1]) + 1;
}

__attribute__((noinline)) static float Inner(float value) {
  float product = value * 3;
  REG(EGU0 + 0x000) = 1;
  __asm volatile("dsb\n isb" ::: "memory");
  return product + value;
}

__attribute__((noinline)) static float Outer(uint32_t size) {
  volatile uint8_t room[40];
  for (uint32_t i = 0; i < sizeof room; i++) room[i] = (uint8_t)size;
  return Inner((float)room[size]) + room[1];
}

__attribute__((noinline, used)) static void Thread(void) {
  results[2] = (uint32_t)Outer(results[3] & 31);
  for (;;) {
  }
}

void Main(void) {
  UartStart();
  Print("deep\r\n");
  SCB_CPACR = 0xF << 20;
  __asm volatile("dsb\n isb");
  NVIC_ISER(27) = 1u << 27;
  REG(EGU0 + 0x304) = 1;
  __asm volatile("msr psp, %0\n movs r0, #2\n msr control, r0\n isb\n bl Thread" ::"r"(stack + 64)
                 : "r0", "r1", "r2", "r3", "r12", "lr", "memory");
}
