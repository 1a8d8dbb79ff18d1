// A hundred faults, each below a call; the handler goes on behind the instruction that faulted.
#include "machine.h"

__attribute__((used)) void Skip(uint32_t *frame) { frame[6] += 2; }

__attribute__((naked)) void UsageFault(void) { __asm volatile("mov r0, sp\n b Skip"); }

__attribute__((noinline)) static uint32_t Faulty(uint32_t value) {
  __asm volatile("udf 7");
  return value * 3;
}

__attribute__((noinline)) static uint32_t Caller(uint32_t value) { return Faulty(value) + 1; }

void Main(void) {
  UartStart();
  Print("faults\r\n");
  SCB_SHCSR |= 1u << 18;
  for (uint32_t n = 0; n < 100; n++) results[0] += Caller(n);
}
