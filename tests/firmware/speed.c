// Work to measure, over and over: a loop in registers, a kernel, and nothing but exceptions.
#include "machine.h"

#define ROUNDS 4000000
#define SIZE 64
#define CALLS 20000

static volatile uint32_t calls;

void Svc(void) { calls++; }

__attribute__((noipa)) static uint32_t Mix(uint32_t seed, uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; i++) {
    seed = seed * 1664525u + 1013904223u;
    seed ^= seed >> 13 ^ i;
  }
  return seed;
}

int8_t left[SIZE][SIZE], right[SIZE][SIZE];

// The inner loop of a network: int8 products, summed up in int32.
__attribute__((noipa)) static uint32_t Multiply(uint32_t times) {
  uint32_t check = 0;
  while (times--) {
    for (uint32_t i = 0; i < SIZE; i++) {
      for (uint32_t j = 0; j < SIZE; j++) {
        int32_t sum = 0;
        for (uint32_t k = 0; k < SIZE; k++) sum += left[i][k] * (right[j][k] + 128);
        check += sum ^ times;
      }
    }
  }
  return check;
}

__attribute__((noipa)) static void Call(void) {
  for (uint32_t i = 0; i < CALLS; i++) __asm volatile("svc 0" ::: "memory");
}

void Main(void) {
  UartStart();
  for (;;) {
    results[0] = Mix(42, ROUNDS);
    results[1] = Multiply(8);
    Call();
    results[2] = calls;
  }
}
