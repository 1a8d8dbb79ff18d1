// A handler branches to EXC_RETURN's prefix with bit 7 clear, which is reserved.
#include "image.h"

__attribute__((naked)) void Svc(void) { __asm volatile("ldr r0, =0xFFFFFF00\n bx r0"); }

void Behave(void) { __asm volatile("svc 0" ::: "memory"); }
