// The room for floats in a frame is filled by the handler's first floating-point instruction.
#include "image.h"

volatile uint32_t before, behind, active;

__attribute__((used)) static void Look(void) {
  const volatile uint32_t *room = (const volatile uint32_t *)REG(0xE000EF38);  // FPCAR
  active = REG(0xE000EF34) & 1;                                                // LSPACT
  before = room[1] == 0x40400000;
  __asm volatile("vmov.f32 s1, #1.0" ::: "s1");
  behind = room[1] == 0x40400000;
}

__attribute__((naked)) void Svc(void) { __asm volatile("push {r4, lr}\n bl Look\n pop {r4, pc}"); }

void Behave(void) {
  uint32_t kept;
  __asm volatile("vmov.f32 s1, #3.0\n svc 0\n vmov %0, s1" : "=r"(kept)::"s1", "memory");
  PrintWord("active", active);
  PrintWord("before", before);
  PrintWord("behind", behind);
  PrintWord("s1", kept);
}
