// EXC_RETURN of an SVC on the process stack, of an interrupt in its handler, and CONTROL there.
#include "image.h"

volatile uint32_t links[3], at, control;

__attribute__((used)) static void Seen(uint32_t link) { links[at++] = link; }
__attribute__((naked)) void Irq0(void) {
  __asm volatile("push {r4, lr}\n mov r0, lr\n bl Seen\n pop {r4, pc}");
}
__attribute__((used)) static void Called(uint32_t link) {
  uint32_t value;
  __asm volatile("mrs %0, control" : "=r"(value));
  control = value;
  Seen(link);
  REG(0xE000E200) = 1u << IRQ0;
  DSB();
}
__attribute__((naked)) void Svc(void) {
  __asm volatile("push {r4, lr}\n mov r0, lr\n bl Called\n pop {r4, pc}");
}

static uint64_t stack[128];

void Behave(void) {
  REG(0xE000ED1C) = 0x80u << 24;  // SHPR2: SVCall
  *(volatile uint8_t *)(0xE000E400 + IRQ0) = 0x40;
  REG(0xE000E100) = 1u << IRQ0;
  __asm volatile(
      "msr psp, %0\n msr control, %1\n isb\n svc 0\n msr control, %2\n isb" ::"r"(stack + 128),
      "r"(2), "r"(0)
      : "memory");
  PrintWord("svc", links[0]);
  PrintWord("nested", links[1]);
  PrintWord("control", control);
}
