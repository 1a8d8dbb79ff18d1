// a call of code in an execute-never region.
#include "image.h"

static uint16_t code[16] __attribute__((aligned(32))) = {0x4770};  // bx lr

void Behave(void) {
  REG(0xE000EDC0) = 0x44;
  REG(0xE000ED98) = 0;
  REG(0xE000ED9C) = (uint32_t)code | 1u << 1 | HOSTILE;  // XN
  REG(0xE000EDA0) = (uint32_t)code | 1u;
  REG(0xE000ED94) = 5;
  DSB();
  ((void (*)(void))((uint32_t)code | 1))();
}
