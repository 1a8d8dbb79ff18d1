// Images that ask a Cortex-M33 how it behaves, linked for this project's simulator and for QEMU's
// mps2-an505. Main() gives each rule of rules.toml a value; console lines `RULE=HEX` tell
// them at the end.
#ifndef TESTS_WITNESS_WITNESS_H_
#define TESTS_WITNESS_WITNESS_H_
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define ICSR REG(0xE000ED04)
#define AIRCR REG(0xE000ED0C)
#define CCR REG(0xE000ED14)
#define SHPR1 REG(0xE000ED18)
#define SHPR2 REG(0xE000ED1C)
#define SHPR3 REG(0xE000ED20)
#define SHCSR REG(0xE000ED24)
#define CFSR REG(0xE000ED28)
#define HFSR REG(0xE000ED2C)
#define MMFAR REG(0xE000ED34)
#define BFAR REG(0xE000ED38)
#define CPACR REG(0xE000ED88)
#define NSACR REG(0xE000ED8C)
#define FPCCR REG(0xE000EF34)
#define FPCAR REG(0xE000EF38)
#define FPDSCR REG(0xE000EF3C)
#define ISER REG(0xE000E100)
#define ISPR REG(0xE000E200)
#define IABR REG(0xE000E300)
#define IPR(irq) (*(volatile uint8_t *)(0xE000E400 + (irq)))
#define MPU_CTRL REG(0xE000ED94)
#define MPU_RNR REG(0xE000ED98)
#define MPU_RBAR REG(0xE000ED9C)
#define MPU_RLAR REG(0xE000EDA0)
#define MPU_MAIR0 REG(0xE000EDC0)
#define BARRIER() __asm volatile("dsb\n isb" ::: "memory")
// Interrupts that no device raises by itself on either machine: EGU0 and EGU1, and unused ones.
enum { IRQ_A = 27, IRQ_B = 28 };

void Main(void);
extern uint32_t stack_top[], bss_start[], bss_end[];

// the console

#ifdef QEMU
static void Send(const char *text) {
  REG(0x50200008) = 1;  // CTRL: transmit
  while (*text) REG(0x50200000) = (uint8_t)*text++;
}
static void End(void) {
  register uint32_t operation __asm("r0") = 0x18, reason __asm("r1") = 0x20026;  // SYS_EXIT
  __asm volatile("bkpt 0xAB" ::"r"(operation), "r"(reason));
}
#else
static void Send(const char *text) {
  uint32_t size = 0;
  while (text[size]) size++;
  REG(0x50008500) = 0;
  REG(0x5000850C) = 29;
  REG(0x50008510) = 28;
  REG(0x50008524) = 0x01D60000;
  REG(0x50008500) = 8;
  REG(0x50008544) = (uint32_t)text;
  REG(0x50008548) = size;
  REG(0x50008120) = 0;
  REG(0x50008008) = 1;
  while (!REG(0x50008120)) {
  }
}
static void End(void) {}
#endif

// Answers are sent at the end: bytes take their time.
static char answers[8192];
static uint32_t answered;

static void Add(const char *text) {
  while (*text && answered < sizeof answers - 1) answers[answered++] = *text++;
}

static void Tell(const char *rule, uint32_t value) {
  char digits[] = "=00000000\n";
  for (int i = 0; i < 8; i++) digits[1 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  Add(rule);
  Add(digits);
}

// faults: each is noted, and the instruction is skipped

static volatile struct {
  uint32_t count, exception, cfsr, hfsr, sfsr, pc, exc_return, address;
} fault;
static volatile uint32_t resume;  // where to go on, if not behind the instruction

__attribute__((used)) static void NoteFault(uint32_t *frame, uint32_t exc_return) {
  if (resume) MPU_CTRL = 0;  // the frame may be refused, too
  fault.count++;
  fault.exception = ICSR & 0x1FF;
  fault.cfsr = CFSR;
  fault.hfsr = HFSR;
  fault.sfsr = REG(0xE000EDE4);
  fault.exc_return = exc_return;
  fault.address = fault.cfsr & 0x80 ? MMFAR : fault.cfsr & 0x8000 ? BFAR : 0;
  if (!resume) fault.pc = frame[6];
  if (resume) {
    frame[6] = resume;
    frame[7] = 1u << 24;
    resume = 0;
  } else {
    frame[6] = fault.pc + (*(uint16_t *)fault.pc >> 11 >= 0x1D ? 4 : 2);
    frame[7] &= ~0x0600FC00u;
  }
  CFSR = fault.cfsr;
  HFSR = fault.hfsr;
  REG(0xE000EDE4) = fault.sfsr;
}

__attribute__((naked)) void Fault(void) {
  __asm volatile(
      "mov r1, lr\n and r2, lr, #12\n cmp r2, #12\n ite eq\n mrseq r0, psp\n mrsne r0, msp\n"
      "tst lr, #0x40\n it eq\n mrseq r0, msp_ns\n"
      "b NoteFault");
}

__attribute__((unused)) static uint32_t Caught(void) {
  uint32_t cfsr = fault.count ? fault.cfsr | fault.exception : 0;
  fault.count = 0;
  return cfsr;
}

__attribute__((unused)) static void Mask(uint32_t primask, uint32_t basepri) {
  __asm volatile("msr basepri, %1\n msr primask, %0\n isb" ::"r"(primask), "r"(basepri) : "memory");
}

__attribute__((noreturn)) void Reset(void) {
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  CPACR |= 0x00F00000;
  SHCSR |= 7u << 16 | 1u << 19;
  BARRIER();
  Main();
  Add("end\n");
  Send(answers);
  End();
  for (;;) __asm volatile("wfi");
}

// Handlers that an image may define; the linker script gives the others Fault.
void Svc(void);
void PendSv(void);
void SysTick(void);
void IrqA(void);
void IrqB(void);

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 64] = {
    (Vector)stack_top,   Reset,         [2] = Fault,    [3] = Fault,
    [4] = Fault,         [5] = Fault,   [6] = Fault,    [7] = Fault,
    [11] = Svc,          [14] = PendSv, [15] = SysTick, [16 + IRQ_A] = IrqA,
    [16 + IRQ_B] = IrqB,
};
#endif  // TESTS_WITNESS_WITNESS_H_
