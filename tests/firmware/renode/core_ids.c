// CPUID, CCR after a reset, ICTR, ID_PFR1, MPU_TYPE.
#include "image.h"

void Behave(void) {
  PrintWord("cpuid", REG(0xE000ED00));
  PrintWord("ccr", CCR);
  PrintWord("ictr", REG(0xE000E004));
  PrintWord("pfr1", REG(0xE000ED44));
  PrintWord("mpu", REG(0xE000ED90));
}
