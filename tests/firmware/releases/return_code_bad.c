// A return with a value that is no EXC_RETURN: UsageFault, INVPC.
#include "image.h"

__attribute__((naked)) void Svc(void) { __asm volatile("mov lr, #0xFFFFFFFF\n bx lr"); }

void Behave(void) { __asm volatile("svc 0" ::: "memory"); }
