// A return to handler mode, though thread mode was interrupted: UsageFault, INVPC.
#include "image.h"

__attribute__((naked)) void Svc(void) { __asm volatile("ldr r0, =0xFFFFFFF1\n bx r0"); }

void Behave(void) { __asm volatile("svc 0" ::: "memory"); }
