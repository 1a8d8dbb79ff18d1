// A null call, and with it a fault inside the fault handler.
#include "machine.h"

void HardFault(void) { __asm volatile("udf 1"); }

__attribute__((noinline)) static void Caller(void (*volatile callee)(void)) { callee(); }

void Main(void) {
  UartStart();
  Print("before\r\n");
  Caller(0);
}
