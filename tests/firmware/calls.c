// System calls without end.
#include "machine.h"

void Svc(void) { results[0]++; }

void Main(void) {
  UartStart();
  Print("calls\r\n");
  for (;;) __asm volatile("svc 0" ::: "memory");
}
