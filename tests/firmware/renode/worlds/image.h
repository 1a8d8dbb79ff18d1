// The frame of the non-secure images: an image defines Behave().
#ifndef TESTS_FIRMWARE_RENODE_WORLDS_IMAGE_H_
#define TESTS_FIRMWARE_RENODE_WORLDS_IMAGE_H_
#include "worlds.h"

void Behave(void);
void SysTick(void) __attribute__((weak));  // absent: a null vector
void PendSv(void) __attribute__((weak));   // absent: a null vector
void Irq(void) __attribute__((weak));      // absent: a null vector
extern uint32_t _bss_start[], _bss_end[], _stack_top[];

void Reset(void) {
  for (uint32_t *word = _bss_start; word < _bss_end;) *word++ = 0;
  REG(0xE000ED24) |= 7u << 16;  // SHCSR
  Behave();
  Done();
  for (;;) __asm volatile("wfi");
}

// Prints the fault, in the non-secure world, and stops.
static void Fault(void) {
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  PrintWord("non-secure exception", number);
  PrintWord("cfsr", REG(0xE000ED28));
  for (;;) __asm volatile("cpsid i\n wfi");
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)_stack_top, Reset,          [2 ... 7] = Fault,
    [14] = PendSv,      [15] = SysTick, [16 + IRQ_NONSECURE] = Irq,
};
#endif  // TESTS_FIRMWARE_RENODE_WORLDS_IMAGE_H_
