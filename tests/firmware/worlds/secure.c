// The secure side: sets the chip up, starts the non-secure image, and serves it.
#include <arm_cmse.h>

#include "worlds.h"

#define ENTRY __attribute__((cmse_nonsecure_entry))

typedef uint32_t __attribute__((cmse_nonsecure_call)) NonSecureFunction(uint32_t);

volatile uint32_t order[16], ordered;
volatile uint32_t fault[8];  // SFSR, SFAR, CFSR, HFSR, EXC_RETURN, IPSR, stacked pc
volatile uint32_t kept[8];   // what a gateway's registers hold after it was preempted
volatile uint32_t ticks, exc_return, counted, spoil;
volatile uint32_t answers[16];

typedef void (*Vector)(void);
extern const Vector vectors[16 + 65];

static void Note(uint32_t what) { order[ordered++] = what; }

// ---- set-up

static void Attribute(void) {
  for (uint32_t n = 1; n < 32; n++) {
    REG(0x50003600 + 4 * n) = 7;  // FLASHREGION: execute, write, read, non-secure
    REG(0x50003700 + 4 * n) = 7;  // RAMREGION
  }
  REG(0x50003500) = 0;  // FLASHNSC[0]: the last 256 bytes of the first region
  REG(0x50003504) = 4;
  REG(0x50003800 + 4 * 28) &= ~0x10u;  // EGU1 is non-secure, EGU0 secure
  SAU_CTRL = 2;                        // ALLNS: the SPU decides
  NVIC_ITNS0 = 1u << IRQ_NONSECURE | 1u << IRQ_NONSECURE_LATE;
  NVIC_IPR(IRQ_SECURE) = 0x40;
  NVIC_ISER0 = 1u << IRQ_SECURE;
  SCB_SHCSR |= 0xFu << 16;
  SCB_NSACR |= 3u << 10;
  SCB_CPACR = 0x00F00000;
  __asm volatile("dsb\n isb");
}

static void Askings(void) {
  static const uint32_t kPlaces[] = {0x00000100, 0x00007F00, 0x00008100, 0x20000100, 0x20002100};
  for (uint32_t n = 0; n < 5; n++) {
    answers[n] = cmse_TT((void *)kPlaces[n]).value;
    answers[8 + n] = cmse_TTA((void *)kPlaces[n]).value;
  }
}

extern uint32_t bss_start[], bss_end[];

void Reset(void) {
  const volatile uint32_t *table = (const volatile uint32_t *)0x8000;
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  Attribute();
  if (SCENARIO == FLOATS_PREEMPTED) FPCCR |= 1u << 26;  // TS: all registers are secure
  if (SCENARIO == PRIORITIES && OPERAND) {
    SCB_AIRCR = 0x05FA0000 | 1u << 14;  // PRIS
  }
  REG(0x20001FF8) = REG(0x20001FFC) = 0xFEF5EDA5;  // seals the stack
  if (SCENARIO == SYSTICKS || SCENARIO == PREEMPT_NONSECURE) {
    SYST_RVR = 999;
    SYST_CVR = 0;
    SYST_CSR = 7;
  }
  if (SCENARIO == ATTRIBUTION) Askings();
  if (SCENARIO == BANKED) {
    __asm volatile("msr psp, %0\n msr basepri, %1" ::"r"(0x20001000), "r"(0x80));
  }
  __asm volatile("msr msp_ns, %0" ::"r"(table[0]));
  REG(0xE000ED08 + NONSECURE_ALIAS) = 0x8000;
  if (SCENARIO == FORGED_RETURN) {  // nothing but the seal is left on the stack
    __asm volatile("msr msp, %1\n bxns %0" ::"r"(table[1] & ~1u), "r"(vectors[0]));
  }
  ((NonSecureFunction *)(table[1] & ~1u))(0);
}

// ---- gateways

ENTRY uint32_t Add(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return a + b + c + d; }

ENTRY uint32_t Sum(const uint8_t *data, uint32_t size) {
  if (!cmse_check_address_range((void *)data, size, CMSE_NONSECURE | CMSE_MPU_READ)) return -1u;
  uint32_t total = 0;
  for (uint32_t n = 0; n < size; n++) total += data[n];
  return total;
}

ENTRY uint32_t Count(void) { return ++counted; }

ENTRY uint32_t CallBack(Callback back, uint32_t value) {
  return ((NonSecureFunction *)((uint32_t)back & ~1u))(value) + 1;
}

// Pends interrupts with secrets in all registers; they are taken in the loop.
ENTRY uint32_t Pend(uint32_t irqs) {
  register uint32_t r0 __asm("r0") = irqs;
  register uint32_t r1 __asm("r1") = 0xE000E200;  // NVIC_ISPR0
  register volatile uint32_t *r2 __asm("r2") = kept;
  __asm volatile(
      "push {r4-r11}\n"
      "mov r4, #0x40\n mov r5, #0x50\n mov r6, #0x60\n mov r7, #0x70\n"
      "mov r8, #0x80\n mov r9, #0x90\n mov r10, #0xA0\n mov r11, #0xB0\n mov r12, #0xC0\n"
      "str r0, [r1]\n dsb\n isb\n"
      "mov r3, #200\n"
      "1: subs r3, #1\n bne 1b\n"
      "stmia r2, {r4-r11}\n"
      "pop {r4-r11}\n"
      : "+r"(r0), "+r"(r1), "+r"(r2)::"r3", "r12", "memory", "cc");
  return ordered;
}

ENTRY float Halve(float value) { return value * 0.5f; }

ENTRY uint32_t CallBackWithFloats(Callback back) {
  __asm volatile(
      "vmov.f32 s0, #3.0\n vmov.f32 s15, #5.0\n vmov.f32 s16, #7.0\n vmov.f32 s31, #9.0" ::
          : "s0", "s15", "s16", "s31");
  uint32_t told = ((NonSecureFunction *)((uint32_t)back & ~1u))(0);
  __asm volatile("vmov %0, s16\n" : "=r"(answers[0]));
  __asm volatile("vmov %0, s31\n" : "=r"(answers[1]));
  return told;
}

ENTRY uint32_t PendWithFloats(uint32_t irqs) {
  __asm volatile(
      "vmov.f32 s1, #3.0\n vmov.f32 s17, #7.0\n str %0, [%1]\n dsb\n isb\n nop\n nop\n" ::"r"(irqs),
      "r"(0xE000E200)
      : "s1", "s17", "memory");
  __asm volatile("vmov %0, s1\n" : "=r"(answers[0]));
  __asm volatile("vmov %0, s17\n" : "=r"(answers[1]));
  return ordered;
}

// The same with the instructions that leave the floating-point state to be saved when it is needed.
ENTRY uint32_t CallBackLazily(Callback back) {
  register uint32_t r0 __asm("r0") = 0;
  __asm volatile(
      "vmov.f32 s0, #3.0\n vmov.f32 s15, #5.0\n"
      "mov r6, sp\n bic r1, r6, #7\n mov sp, r1\n"
      "sub sp, #0x88\n vlstm sp\n blxns %1\n vlldm sp\n mov sp, r6\n"
      "vmov r1, s15\n str r1, [%2]\n"
      : "+r"(r0)
      : "r"((uint32_t)back & ~1u), "r"(answers)
      : "r1", "r2", "r3", "r6", "r12", "lr", "s0", "s15", "memory", "cc");
  return r0;
}

ENTRY void Banks(void) {
  __asm volatile("mrs %0, psp" : "=r"(answers[0]));
  __asm volatile("mrs %0, basepri" : "=r"(answers[1]));
  __asm volatile("mrs %0, psp_ns" : "=r"(answers[2]));
  __asm volatile("mrs %0, basepri_ns" : "=r"(answers[3]));
  __asm volatile("mrs %0, primask_ns" : "=r"(answers[4]));
  __asm volatile("mrs %0, primask" : "=r"(answers[5]));
}

// The next secure interrupt breaks the signature in the frame of the preempted gateway.
ENTRY void SpoilFrame(void) { spoil = 1; }

// A branch of secure code that does not say that it changes the world.
ENTRY void BranchTo(uint32_t address) { __asm volatile("bx %0" ::"r"(address)); }

ENTRY uint32_t BranchByBxns(uint32_t address) {
  __asm volatile("bxns %0" ::"r"(address));
  return 0;
}

// A target with bit 0 set stays in the secure state.
ENTRY uint32_t StayingBxns(void) {
  uint32_t told;
  __asm volatile("adr %0, 1f\n adds %0, #1\n bxns %0\n nop\n .align 2\n 1: movs %0, #77"
                 : "=r"(told)::"cc");
  return told + (SAU_CTRL == 2);  // which non-secure code would read as 0
}

// ---- handlers

__attribute__((used)) void SecureIrq(uint32_t link, uint32_t *stack) {
  exc_return = link;
  Note(0x5EC);
  while (spoil && (*stack & ~1u) != 0xFEFA125A) stack++;
  if (spoil) *stack = 0xBAD;
}

__attribute__((naked)) void SecureInterrupt(void) {
  __asm volatile("push {r4, lr}\n mov r0, lr\n add r1, sp, #8\n bl SecureIrq\n pop {r4, pc}");
}

__attribute__((used)) void Ticked(uint32_t link) {
  exc_return = link;
  ticks++;
}

__attribute__((naked)) void SysTick(void) { __asm volatile("mov r0, lr\n b Ticked"); }

__attribute__((used)) void FaultTaken(uint32_t link, const uint32_t *frame) {
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  fault[0] = SFSR;
  fault[1] = SFAR;
  fault[2] = SCB_CFSR;
  fault[3] = SCB_HFSR;
  fault[4] = link;
  fault[5] = number;
  fault[6] = link & 0x40 ? 0 : frame[6];
  __asm volatile("cpsid i");
  for (;;) __asm volatile("dsb\n wfi");
}

__attribute__((naked)) void Fault(void) {
  __asm volatile("mov r0, lr\n mrs r1, msp_ns\n b FaultTaken");
}

__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)0x20001FF8, Reset,          [3] = Fault,
    [4] = Fault,        [5] = Fault,    [6] = Fault,
    [7] = Fault,        [15] = SysTick, [16 + IRQ_SECURE] = SecureInterrupt,
};
