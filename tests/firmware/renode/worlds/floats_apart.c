// CPACR is banked: the non-secure world has no FPU until its own allows it.
#include "image.h"

void Behave(void) { __asm volatile(".fpu fpv5-sp-d16\n vmov.f32 s0, #1.0" ::: "memory"); }
