// Faults that are counted and stepped over: each faulting instruction is four bytes long.
#ifndef TESTS_FIRMWARE_RENODE_TRAPS_H_
#define TESTS_FIRMWARE_RENODE_TRAPS_H_
#include "image.h"

volatile uint32_t traps, step;  // a bit for each step that trapped; the step that runs

__attribute__((used)) static void StepOver(uint32_t *frame) {
  traps |= 1u << step;
  frame[6] += 4;
  CFSR = CFSR;
}

__attribute__((naked)) static void Trap(void) {
  __asm volatile("tst lr, #4\n ite eq\n mrseq r0, msp\n mrsne r0, psp\n b StepOver");
}

void MemManage(void) __attribute__((alias("Trap")));
void BusFault(void) __attribute__((alias("Trap")));
void UsageFault(void) __attribute__((alias("Trap")));

// The same without privileges, and back by SVC.
void Svc(void) { __asm volatile("msr control, %0\n isb" ::"r"(0)); }
__attribute__((unused)) static void Unprivileged(void) {
  __asm volatile("msr control, %0\n isb" ::"r"(1));
}
__attribute__((unused)) static void Privileged(void) { __asm volatile("svc 0" ::: "memory"); }
#endif  // TESTS_FIRMWARE_RENODE_TRAPS_H_
