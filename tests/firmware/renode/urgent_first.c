// Three interrupts at once: the most urgent first; one that comes in a handler nests if more
// urgent.
#include "image.h"

static volatile uint32_t order;

static void Note(uint32_t what) { order = order << 4 | what; }

void Irq0(void) {
  Note(1);
  REG(0xE000E200) = 1u << IRQ2;
  DSB();
  Note(2);
}
void Irq1(void) { Note(3); }
void Irq2(void) { Note(4); }
void PendSv(void) { Note(5); }

void Behave(void) {
  volatile uint8_t *priorities = (volatile uint8_t *)0xE000E400;
  priorities[IRQ0] = 0x80;
  priorities[IRQ1] = 0xA0;
  priorities[IRQ2] = 0x40;
  REG(0xE000ED20) = 0xE0u << 16;
  REG(0xE000E100) = 7u << IRQ0;
  __asm volatile("cpsid i");
  REG(0xE000E200) = 3u << IRQ0;
  ICSR = 1u << 28;  // PENDSVSET
  DSB();
  __asm volatile("cpsie i\n isb");
  PrintWord("order", order);
}
