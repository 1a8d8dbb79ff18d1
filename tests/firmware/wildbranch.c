// A branch to where nothing is, and a fault handler that runs for a while and then stays.
#include "machine.h"

void HardFault(void) {
  for (int i = 0; i < 20; ++i) Print(i & 1 ? "-" : "+");
  for (;;) {
  }
}

__attribute__((noinline)) static void Caller(void (*volatile callee)(void)) {
  callee();
  __asm volatile("");  // no tail call: lr names this function
}

void Main(void) {
  UartStart();
  Print("before\r\n");
  Caller((void (*)(void))0x30000001);
}
