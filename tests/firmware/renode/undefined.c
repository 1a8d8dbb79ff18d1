// An undefined instruction while SHCSR enables UsageFault.
#include "image.h"

void Behave(void) { __asm volatile("udf 1"); }
