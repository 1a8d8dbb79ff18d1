// Code that is written to RAM, run and written again, with the MPU off and on.
#include "machine.h"

#define MPU(offset) REG(0xE000ED00 + (offset))
#define ROUNDS 4

static uint16_t code[2][16] __attribute__((aligned(1024)));
static uint32_t refused;

// movs r0, #value; bx lr
static void Write(uint32_t place, uint32_t value) {
  volatile uint16_t *at = code[place];
  at[0] = (uint16_t)(0x2000 | value);
  at[1] = 0x4770;
  __asm volatile("dsb\n isb" ::: "memory");
}

static uint32_t Run(uint32_t place) { return ((uint32_t(*)(void))((uint32_t)code[place] | 1))(); }

// All of RAM is one region, with or without the right to run there.
static void Protect(uint32_t never_execute) {
  MPU(0x98) = 0;
  MPU(0x9C) = 0x20000000 | 1 << 1 | never_execute;
  MPU(0xA0) = 0x2003FFE0 | 1;
  MPU(0x94) = 5;
  __asm volatile("dsb\n isb" ::: "memory");
}

// A refused call returns to its caller.
void Skip(uint32_t *frame) {
  refused++;
  frame[6] = frame[5];
}
__attribute__((naked)) void MemManage(void) { __asm volatile("mrs r0, msp\n b Skip"); }

void Main(void) {
  uint32_t at = 0;
  SCB_SHCSR |= 1u << 16;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    Write(0, 10 * round + 1);
    Write(1, 10 * round + 2);
    results[at++] = Run(0);
    results[at++] = Run(1);
    Protect(1);
    Write(0, 10 * round + 3);
    Write(1, 10 * round + 4);
    Run(0);
    results[at++] = refused;
    if (round & 1) {
      Protect(0);
    } else {
      MPU(0x94) = 0;
    }
    results[at++] = Run(1);
    results[at++] = Run(0);
    MPU(0x94) = 0;
  }
  results[at] = 1;
  UartStart();
  Print("done\r\n");
}
