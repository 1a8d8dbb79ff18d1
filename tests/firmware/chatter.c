// Prints without end: single bytes, one a transfer.
#include "machine.h"

void Main(void) {
  UartStart();
  for (;;) Print(".");
}
