// The non-secure side: does what the scenario says and leaves what it saw.
#include "worlds.h"

volatile uint32_t results[16], seen[13], ticks, order[16], ordered, done;
volatile uint32_t exc_return, handled_floats[2];
static const uint8_t kBytes[] = {1, 2, 3, 4};

static void Note(uint32_t what) { order[ordered++] = what; }

static uint32_t Return(void) {
  uint32_t link;
  __asm volatile("mov %0, lr" : "=r"(link));
  return link;
}

// ---- callbacks and handlers

__attribute__((noinline)) uint32_t Twice(uint32_t value) {
  results[4] = Return();
  results[5] = Count();  // nests: non-secure, secure, non-secure, secure
  return 2 * value;
}

__attribute__((noinline)) uint32_t Reads(uint32_t address) { return REG(address) + Count(); }

uint32_t LooksAtFloats(uint32_t unused) {
  uint32_t low, high;
  __asm volatile("vmov %0, s15\n vmov %1, s31\n vmov.f32 s16, #1.0\n vmov.f32 s31, #1.0"
                 : "=r"(low), "=r"(high)::"s16", "s31");
  results[2] = low;
  results[3] = high;
  return unused + 1;
}

// All registers as the handler finds them.
__attribute__((naked)) void Interrupt(void) {
  __asm volatile(
      "push {r4, lr}\n"
      "ldr r4, =seen\n stmia r4!, {r0-r3}\n"
      "ldr r0, [sp]\n stmia r4!, {r0}\n"
      "stmia r4!, {r5-r12}\n"
      "mov r0, lr\n bl NonSecureIrq\n"
      "pop {r4, lr}\n"
      "ldr r0, =forged\n ldr r0, [r0]\n cmp r0, #0\n it ne\n movne lr, r0\n"
      "bx lr\n"
      ".ltorg");
}

volatile uint32_t forged;

__attribute__((used)) void NonSecureIrq(uint32_t link) {
  exc_return = link;
  Note(0x1);
  if (SCENARIO == FLOATS_PREEMPTED) {
    uint32_t low, high;
    __asm volatile("vmov %0, s1\n vmov %1, s17\n vmov.f32 s17, #1.0"
                   : "=r"(low), "=r"(high)::"s17");
    handled_floats[0] = low;
    handled_floats[1] = high;
  }
  if (SCENARIO == NESTED || SCENARIO == BAD_SIGNATURE || SCENARIO == PRIORITIES) {
    NVIC_ISPR0 = 1u << IRQ_NONSECURE_LATE;  // less urgent: after this one
    results[8] = Pend(1u << IRQ_SECURE);
    Note(0x2);
  }
}

void Late(void) { Note(0x3); }

void SysTick(void) { ticks++; }

// ---- scenarios

static void Calls(void) {
  uint32_t leaked[4];
  results[0] = Add(1, 2, 3, 4);
  register uint32_t a __asm("r0") = 5, b __asm("r1") = 6, c __asm("r2") = 7, d __asm("r3") = 8;
  __asm volatile("bl Add\n mov r4, r12\n"
                 : "+r"(a), "+r"(b), "+r"(c), "+r"(d)::"r4", "r12", "lr", "memory", "cc");
  leaked[0] = a;
  leaked[1] = b;
  leaked[2] = c;
  leaked[3] = d;
  for (uint32_t n = 0; n < 4; n++) results[4 + n] = leaked[n];
}

static void Pointers(void) {
  static uint8_t bytes[4];
  for (uint32_t n = 0; n < 4; n++) bytes[n] = (uint8_t)(n + 10);
  results[0] = Sum(bytes, 4);
  results[1] = Sum(kBytes, 4);
  results[2] = Sum((const uint8_t *)0x20000000, 4);           // secure
  results[3] = Sum((const uint8_t *)0x20001FFE, 4);           // begins in secure memory
  results[4] = Sum((const uint8_t *)0x00000000, 4);           // secure flash
  results[5] = Sum((const uint8_t *)0x20002000, 0xFFFFFFF0);  // wraps around
}

// A thread that a secure interrupt preempts: its registers go on as they were.
static void Preempted(void) {
  __asm volatile(
      "mov r4, #4\n mov r5, #5\n mov r6, #6\n mov r12, #12\n"
      "mov r3, #2000\n"
      "1: subs r3, #1\n bne 1b\n"
      "stmia %0, {r3-r6, r12}\n" ::"r"(results)
      : "r3", "r4", "r5", "r6", "r12", "memory", "cc");
}

static void Banked(void) {
  uint32_t value;
  __asm volatile("mrs %0, basepri" : "=r"(value));
  results[1] = value;
  results[2] = SCB_VTOR;
  __asm volatile("cpsid i");
  __asm volatile("msr psp, %0\n msr basepri, %1" ::"r"(0x20002800), "r"(0x20));
  __asm volatile("mrs %0, psp" : "=r"(value));
  results[3] = value;
  results[4] = REG(0xE000ED08 + NONSECURE_ALIAS);  // reads zero here
  __asm volatile("mrs %0, control" : "=r"(value));
  results[5] = value;
  Banks();
}

static void SecureOnly(void) {
  NVIC_ITNS0 = 0xFFFFFFFF;
  results[0] = NVIC_ITNS0;
  results[1] = SAU_CTRL;
  results[2] = SFSR;
  NVIC_ISPR0 = 1u << IRQ_SECURE;  // not ours: nothing comes of it
  results[3] = NVIC_ISPR0 | NVIC_ISER0;
  SCB_AIRCR = 0x05FA0000 | 1u << 14;
  results[4] = SCB_AIRCR & 1u << 14;
}

static void Floats(void) {
  float kept = 0;
  uint32_t low, high;
  __asm volatile("vmov.f32 s16, #2.0\n vmov.f32 s31, #4.0" ::: "s16", "s31");
  kept = Halve(9.0f);
  __asm volatile("vmov %0, s16\n vmov %1, s31" : "=r"(low), "=r"(high));
  results[0] = kept == 4.5f;
  results[1] = low;
  results[2] = high;
}

__attribute__((noipa)) static void Main(void) {
  SCB_SHCSR |= 7u << 16;
  NVIC_IPR(IRQ_NONSECURE) = SCENARIO == PRIORITIES ? 0x20 : 0x80;
  NVIC_IPR(IRQ_NONSECURE_LATE) = 0xC0;
  NVIC_ISER0 = 1u << IRQ_NONSECURE | 1u << IRQ_NONSECURE_LATE;
  __asm volatile("dsb\n isb");
  switch (SCENARIO) {
    case CALLS:
      Calls();
      break;
    case POINTERS:
      Pointers();
      break;
    case CALLBACK:
      results[0] = CallBack(Twice, 21);
      results[1] = Count();
      break;
    case PREEMPT_SECURE:
      results[0] = Pend(1u << IRQ_NONSECURE);
      break;
    case PREEMPT_NONSECURE:
      Preempted();
      break;
    case NESTED:
    case PRIORITIES:
      NVIC_ISPR0 = 1u << IRQ_NONSECURE;
      __asm volatile("dsb\n isb");
      break;
    case FLOATS_OUT:
      Floats();
      break;
    case FLOATS_IN:
      results[0] = CallBackWithFloats(LooksAtFloats);
      break;
    case FLOATS_LAZY:
      results[0] = CallBackLazily(LooksAtFloats);
      break;
    case FLOATS_PREEMPTED:
      results[0] = PendWithFloats(1u << IRQ_NONSECURE);
      break;
    case SYSTICKS:
      SYST_RVR = 1499;
      SYST_CVR = 0;
      SYST_CSR = 7;
      for (volatile uint32_t n = 0; n < 3000; n++) {
      }
      SYST_CSR = 0;
      break;
    case BANKED:
      Banked();
      break;
    case READ:
      results[0] = REG(OPERAND);
      break;
    case WRITE:
      REG(OPERAND) = 1;
      break;
    case EXECUTE:
    case FORGED_RETURN:
      __asm volatile("bx %0" ::"r"(OPERAND));
      break;
    case BAD_SIGNATURE:
      SpoilFrame();
      Pend(1u << IRQ_NONSECURE);
      break;
    case BAD_EXC_RETURN:
      forged = OPERAND;
      Pend(1u << IRQ_NONSECURE);
      break;
    case UNMARKED_BRANCH:
      BranchTo((uint32_t)Twice | 1);
      break;
    case BXNS_TO_SECURE:
      BranchByBxns(OPERAND);
      break;
    case BXNS_STAYING:
      results[0] = StayingBxns();
      break;
    case FAULT_BELOW_CALLBACK:
      results[0] = CallBack(Reads, OPERAND);
      break;
    case SECURE_ONLY:
      SecureOnly();
      break;
    default:
      break;
  }
  done = 1;
  for (;;) __asm volatile("dsb\n wfi");
}

// A non-secure fault handler has nothing to do here; the test sees that it ran.
void Fault(void) {
  Note(0xF);
  for (;;) __asm volatile("cpsid i\n wfi");
}

extern uint32_t bss_start[], bss_end[];

void Reset(void) {
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  SCB_CPACR = 0x00F00000;
  __asm volatile("dsb\n isb");
  Main();
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)0x20003000,
    Reset,
    [3] = Fault,
    [4] = Fault,
    [5] = Fault,
    [6] = Fault,
    [7] = Fault,
    [15] = SysTick,
    [16 + IRQ_NONSECURE] = Interrupt,
    [16 + IRQ_NONSECURE_LATE] = Late,
};
