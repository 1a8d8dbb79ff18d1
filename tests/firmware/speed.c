// Work to measure, over and over: a loop in registers, a kernel, and nothing but exceptions.
#include <arm_acle.h>

#include "machine.h"

#define ROUNDS 4000000
#define SIZE 64
#define CALLS 20000
#define EGU0_BIT (1u << 27)

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

typedef uint32_t __attribute__((may_alias)) Word;

static uint32_t Rotated(uint32_t x) { return x >> 8 | x << 24; }

// Four int8 products at a time.
static int32_t Dot4(uint32_t a, uint32_t b, int32_t sum) {
  sum = __smlad(__sxtb16(a), __sxtb16(b), sum);
  return __smlad(__sxtb16(Rotated(a)), __sxtb16(Rotated(b)), sum);
}

// The same products as a tuned library computes them: DSP instructions, two rows by two columns.
__attribute__((noipa)) static uint32_t MultiplyTuned(uint32_t times) {
  const Word(*a)[SIZE / 4] = (const void*)left;
  const Word(*b)[SIZE / 4] = (const void*)right;
  uint32_t check = 0;
  while (times--) {
    for (uint32_t i = 0; i < SIZE; i += 2) {
      for (uint32_t j = 0; j < SIZE; j += 2) {
        int32_t sums[4] = {0};
        for (uint32_t k = 0; k < SIZE / 4; k++) {
          sums[0] = Dot4(a[i][k], b[j][k], sums[0]);
          sums[1] = Dot4(a[i][k], b[j + 1][k], sums[1]);
          sums[2] = Dot4(a[i + 1][k], b[j][k], sums[2]);
          sums[3] = Dot4(a[i + 1][k], b[j + 1][k], sums[3]);
        }
        for (uint32_t n = 0; n < 4; n++) check += (uint32_t)sums[n] ^ times;
      }
    }
  }
  return check;
}

float weights[SIZE][SIZE], values[SIZE];

// Float products, four rows at a time.
__attribute__((noipa)) static uint32_t MultiplyFloats(uint32_t times) {
  uint32_t check = 0;
  while (times--) {
    for (uint32_t i = 0; i < SIZE; i += 4) {
      float sums[4] = {0};
      for (uint32_t k = 0; k < SIZE; k++) {
        for (uint32_t n = 0; n < 4; n++) sums[n] += weights[i + n][k] * values[k];
      }
      for (uint32_t n = 0; n < 4; n++) check += sums[n] > 0;
    }
  }
  return check;
}

__attribute__((noipa)) static void Call(void) {
  for (uint32_t i = 0; i < CALLS; i++) __asm volatile("svc 0" ::: "memory");
}

// An interrupt whose handler reads and writes the interrupt controller, as drivers' do.
void Egu0(void) {
  calls++;
  if (NVIC_ISER(27) & EGU0_BIT) NVIC_ICPR(27) = EGU0_BIT;
}

__attribute__((noipa)) static void Interrupt(void) {
  NVIC_ISER(27) = EGU0_BIT;
  for (uint32_t i = 0; i < CALLS; i++) NVIC_ISPR(27) = EGU0_BIT;
  NVIC_ICER(27) = EGU0_BIT;
}

static void Fill(void) {
  for (uint32_t i = 0; i < SIZE; i++) {
    values[i] = (float)i - 30.5f;
    for (uint32_t k = 0; k < SIZE; k++) {
      left[i][k] = (int8_t)(i * 37 + k * 11);
      right[i][k] = (int8_t)(i * 53 - k * 29);
      weights[i][k] = (float)left[i][k];
    }
  }
}

void Main(void) {
  UartStart();
  Fill();
  for (;;) {
    results[0] = Mix(42, ROUNDS);
    results[1] = Multiply(8);
    results[2] = MultiplyTuned(64);
    results[3] = MultiplyFloats(64);
    Call();
    Interrupt();
    results[4] = calls;
  }
}
