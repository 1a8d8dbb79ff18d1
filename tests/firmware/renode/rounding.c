// VMAXNM with a NaN, VRINTA and VCVTA of a half.
#include "image.h"

void Behave(void) {
  uint32_t greatest, rounded, whole;
  __asm volatile("vmov s0, %1\n vmov.f32 s1, #2.0\n vmaxnm.f32 s0, s0, s1\n vmov %0, s0"
                 : "=r"(greatest)
                 : "r"(0x7FC00000)
                 : "s0", "s1");
  __asm volatile("vmov.f32 s0, #2.5\n vrinta.f32 s1, s0\n vmov %0, s1" : "=r"(rounded)::"s0", "s1");
  __asm volatile("vmov.f32 s0, #-2.5\n vcvta.s32.f32 s1, s0\n vmov %0, s1"
                 : "=r"(whole)::"s0", "s1");
  PrintWord("vmaxnm", greatest);
  PrintWord("vrinta", rounded);
  PrintWord("vcvta", whole);
}
