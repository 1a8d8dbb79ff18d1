// A stack on whose page a guard lies (MPU), and one with a limit (PSPLIM): used, then overflowed.
#include "machine.h"

#define MPU(offset) REG(0xE000ED90 + (offset))
#define GUARD 128  // a frame whose floating-point part is not stored would skip a smaller one

static struct {
  uint8_t guard[GUARD];
  uint64_t words[128];
} stack __attribute__((aligned(4096)));

static volatile uint32_t order;

static void Note(uint32_t what) { results[order++] = what; }

__attribute__((noinline)) static uint32_t Deeper(uint32_t left) {
  volatile uint32_t room[8];
  room[0] = left;
  return left ? Deeper(left - 1) + room[0] : 0;
}

static void UseThreadStack(void *top, uint32_t limit) {
  __asm volatile(
      "msr psplim, %1\n msr psp, %0\n mrs r0, control\n orr r0, #2\n msr control, r0\n isb" ::"r"(
          top),
      "r"(limit)
      : "r0", "memory");
}

// Both give the thread up: they go on with Main's next part on a fresh stack.
void (*next)(void);

__attribute__((naked)) static void Leave(void) {
  __asm volatile(
      "mrs r0, control\n bic r0, #2\n msr control, r0\n isb\n"
      "ldr r0, =next\n ldr r0, [r0]\n bx r0\n .ltorg");
}

static void GiveUp(void) {
  uint32_t *frame = (uint32_t *)&stack.words[120];
  __asm volatile("movs r0, #0\n msr psplim, r0\n msr psp, %0" ::"r"(frame) : "r0");
  frame[6] = (uint32_t)Leave & ~1u;
  frame[7] = 1u << 24;
}

void MemManage(void) {
  Note(0x4000 | (REG(0xE000ED28) & 0xFF));
  Note(REG(0xE000ED34) - (uint32_t)stack.guard);
  REG(0xE000ED28) = 0xFF;
  MPU(4) = 0;
  GiveUp();
  __asm volatile("mvn lr, #2\n bx lr");
}

void UsageFault(void) {
  Note(0x6000 | (REG(0xE000ED28) >> 16));
  REG(0xE000ED28) = 0xFFFF0000;
  GiveUp();
  __asm volatile("mvn lr, #2\n bx lr");
}

static void End(void) {
  Print("guard done\r\n");
  for (;;) __asm volatile("wfi");
}

static void WithLimit(void) {
  next = End;
  UseThreadStack(&stack.words[128], (uint32_t)&stack.words[8]);
  Deeper(1000);
}

void Main(void) {
  UartStart();
  SCB_SHCSR = 1u << 16 | 1u << 18;
  MPU(8) = 0;
  MPU(0xC) = (uint32_t)stack.guard | 1u << 2;  // read-only, privileged
  MPU(0x10) = ((uint32_t)stack.guard + GUARD - 32) | 1;
  MPU(4) = 5;
  __asm volatile("dsb\n isb");
  volatile uint8_t *bytes = (volatile uint8_t *)&stack.words[0];
  bytes[0] = 0x11;
  *(volatile uint16_t *)(bytes + 2) = 0x3322;
  __asm volatile("vmov.f32 s0, #2.0\n vmov.f32 s1, #1.5\n vstr d0, [%0]" ::"r"(&stack.words[1])
                 : "d0", "memory");
  __asm volatile("strd %1, %2, [%0]" ::"r"(&stack.words[2]), "r"(0x44), "r"(0x55) : "memory");
  Note(*(volatile uint32_t *)bytes);
  Note(stack.words[1] >> 32);
  Note((uint32_t)stack.words[2] | (uint32_t)(stack.words[2] >> 32) << 8);
  next = WithLimit;
  UseThreadStack(&stack.words[128], 0);
  Note(Deeper(5));
  Deeper(1000);
}
