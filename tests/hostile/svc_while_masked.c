// SVC with PRIMASK.
#include "image.h"

void Svc(void) {}

void Behave(void) {
  if (HOSTILE) __asm volatile("cpsid i");
  __asm volatile("svc 0");
}
