// SVC in a handler that is more urgent: HardFault, FORCED, and the frame's pc behind the SVC.
#include "image.h"

volatile uint32_t pc, hfsr, after;

__attribute__((used)) static void Forced(uint32_t *frame) {
  pc = frame[6];
  hfsr = HFSR;
}
__attribute__((naked)) void HardFault(void) { __asm volatile("mov r0, sp\n b Forced"); }
__attribute__((naked)) void Irq0(void) {
  __asm volatile(
      "ldr r1, =after\n adr r0, 1f\n str r0, [r1]\n svc 0\n .align 2\n 1: bx lr\n .ltorg");
}

void Behave(void) {
  REG(0xE000ED1C) = 0x80u << 24;
  *(volatile uint8_t *)(0xE000E400 + IRQ0) = 0x40;
  REG(0xE000E100) = 1u << IRQ0;
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
  PrintWord("hfsr", hfsr);
  PrintWord("behind", after - pc < 3);
}
