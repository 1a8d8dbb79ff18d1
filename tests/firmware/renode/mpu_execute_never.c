// A branch into a region of execute-never.
#include "image.h"

static uint16_t code[16] __attribute__((aligned(32))) = {0x4770};

void Behave(void) {
  REG(0xE000ED98) = 0;
  REG(0xE000ED9C) = (uint32_t)code | 3;
  REG(0xE000EDA0) = (uint32_t)code | 1;
  REG(0xE000ED94) = 5;
  DSB();
  ((void (*)(void))((uint32_t)code | 1))();
}
