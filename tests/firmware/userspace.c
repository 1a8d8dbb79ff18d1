// Works as a kernel with user threads does: regions of the MPU change at each switch, system calls
// read the RTC, and bytes are printed one by one through a UARTE that DPPI stops. Without end.
#include "machine.h"

#define DPPIC 0x50017000u
#define MPU(offset) REG(0xE000ED00 + (offset))

static volatile uint32_t ticks;
static uint8_t byte_out;
static volatile uint32_t current;
static uint32_t regions[2][4][2];  // of each thread: RBAR, RLAR

__attribute__((noinline)) static uint32_t Lock(void) {
  uint32_t key;
  __asm volatile("mrs %0, basepri\n msr basepri, %1\n isb" : "=&r"(key) : "r"(0x20) : "memory");
  return key;
}

__attribute__((noinline)) static void Unlock(uint32_t key) {
  __asm volatile("msr basepri, %0\n isb" ::"r"(key) : "memory");
}

__attribute__((noinline)) static int Ready(void) { return REG(UARTE0 + 0x158) != 0; }

__attribute__((noinline)) static void Event(uint32_t at) {
  REG(at) = 0;
  (void)REG(at);
}

__attribute__((noinline)) static void PollOut(uint8_t c) {
  uint32_t key;
  for (;;) {
    while (!Ready()) {
    }
    key = Lock();
    if (Ready()) break;
    Unlock(key);
  }
  byte_out = c;
  REG(UARTE0 + 0x544) = (uint32_t)&byte_out;
  REG(UARTE0 + 0x548) = 1;
  Event(UARTE0 + 0x120);
  Event(UARTE0 + 0x158);
  REG(UARTE0 + 0x008) = 1;
  Unlock(key);
}

__attribute__((noinline)) static void Switch(void) {
  current ^= 1;
  for (uint32_t i = 0; i < 4; i++) {
    MPU(0x98) = 4 + i;
    MPU(0x9C) = regions[current][i][0];
    MPU(0xA0) = regions[current][i][1];
  }
}

void PendSv(void) { Switch(); }

__attribute__((noinline)) static uint32_t Elapsed(void) { return REG(RTC0 + 0x504); }

void SvcC(uint32_t *frame) {
  ticks += Elapsed();
  const char *text = (const char *)frame[0];
  if (text) {
    for (uint32_t i = 0; i < frame[1]; i++) PollOut((uint8_t)text[i]);
  } else {
    SCB_ICSR = 1u << 28;
  }
}

__attribute__((naked)) void Svc(void) { __asm volatile("mrs r0, psp\n b SvcC"); }

__attribute__((noinline)) static void Out(const char *text, uint32_t size) {
  register uint32_t a __asm("r0") = (uint32_t)text;
  register uint32_t b __asm("r1") = size;
  __asm volatile("svc 0" : "+r"(a) : "r"(b) : "memory");
}

static uint32_t stack[256] __attribute__((aligned(1024)));

__attribute__((noinline)) static void User(void) {
  static const char text[] = "a line that a user thread prints\n";
  for (uint32_t n = 0;; n++) {
    uint32_t h = n;
    for (uint32_t i = 0; i < 300; i++) h = h * 31 + (uint8_t)text[i % sizeof text];
    Out(text, sizeof text - 1 - (h & 1));
    Out(0, 0);
    Out(0, 0);
  }
}

void Main(void) {
  UartStart();
  Print("threads\n");
  REG(UARTE0 + 0x1A0) = 0x80000003;  // PUBLISH_ENDTX
  REG(UARTE0 + 0x08C) = 0x80000003;  // SUBSCRIBE_STOPTX
  REG(DPPIC + 0x504) = 1u << 3;
  REG(UARTE0 + 0x00C) = 1;  // STOPTX: ready
  REG(RTC0) = 1;
  REG(0xE000ED20) = 0x00E00000;
  MPU(0x98) = 0;
  MPU(0x9C) = 0x00000000 | 3 << 1;  // flash
  MPU(0xA0) = 0xFFFE0 | 1;
  MPU(0x98) = 1;
  MPU(0x9C) = 0x20000000 | 1 << 1 | 1;
  MPU(0xA0) = 0x2000FFE0 | 1;
  for (uint32_t t = 0; t < 2; t++) {
    for (uint32_t i = 0; i < 4; i++) {
      uint32_t at = 0x20020000 + 0x4000 * t + 0x1000 * i;
      regions[t][i][0] = at | 1 << 1 | 1;
      regions[t][i][1] = (at + 0xFE0) | 1;
    }
  }
  MPU(0x94) = 5;
  __asm volatile("dsb\n isb");
  __asm volatile("msr psp, %0\n msr control, %1\n isb" ::"r"(stack + 256), "r"(3) : "memory");
  User();
}
