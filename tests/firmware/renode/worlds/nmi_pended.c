// ICSR.NMIPENDSET of the non-secure world: nothing comes of it, since NMI is secure.
#include "image.h"

void Behave(void) {
  REG(0xE000ED04) = 1u << 31;
  __asm volatile("dsb\n isb");
}
