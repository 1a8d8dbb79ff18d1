// Threads on the process stack, switched by PendSV with live FP registers; SVC from both stacks;
// masking by BASEPRI; WFE that an interrupt ends without being taken.
#include "machine.h"

static volatile uint32_t order;

static void Note(uint32_t what) { results[order++] = what; }

static uint64_t stacks[2][64];
uint32_t *threads[2];  // stack pointers
uint32_t running;

// Saves r4-r11, EXC_RETURN and, if the thread uses them, s16-s31; then goes on with the other one.
__attribute__((naked)) void PendSv(void) {
  __asm volatile(
      "mrs r0, psp\n"
      "tst lr, #0x10\n it eq\n vstmdbeq r0!, {s16-s31}\n"
      "stmdb r0!, {r4-r11, lr}\n"
      "ldr r1, =running\n ldr r2, [r1]\n ldr r3, =threads\n"
      "str r0, [r3, r2, lsl #2]\n"
      "eor r2, #1\n str r2, [r1]\n"
      "ldr r0, [r3, r2, lsl #2]\n"
      "ldmia r0!, {r4-r11, lr}\n"
      "tst lr, #0x10\n it eq\n vldmiaeq r0!, {s16-s31}\n"
      "msr psp, r0\n"
      "bx lr\n .ltorg");
}

// Notes the number of the SVC: 0x100 more from the process stack, 0x200 from unprivileged code.
__attribute__((naked)) void Svc(void) {
  __asm volatile(
      "tst lr, #4\n ite eq\n mrseq r0, msp\n mrsne r0, psp\n"
      "mov r1, lr\n mrs r2, control\n b NoteSvc");
}

__attribute__((used)) static void NoteSvc(const uint32_t *frame, uint32_t exc_return,
                                          uint32_t control) {
  const uint8_t *code = (const uint8_t *)frame[6];
  Note(code[-2] | (exc_return >> 2 & 1) << 8 | (control & 1) << 9);
}

static void Switch(void) {
  SCB_ICSR = 1u << 28;
  __asm volatile("dsb\n isb" ::: "memory");
}

static uint32_t Float(void) {
  uint32_t bits;
  __asm volatile("vmov %0, s20" : "=r"(bits));
  return bits;
}

static void Second(void) {
  __asm volatile("vmov.f32 s20, #4.0" ::: "s20");
  Switch();  // to the first one
  Note(Float());
  Switch();
  for (;;) {
  }
}

void Egu0(void) {
  REG(EGU0 + 0x100) = 0;
  Note(0xE0);
}

static void Masking(void) {
  NVIC_IPR(27) = 0x80;
  NVIC_ISER(27) = 1u << 27;
  REG(EGU0 + 0x304) = 1;
  __asm volatile("msr basepri, %0" ::"r"(0x80));
  REG(EGU0 + 0x000) = 1;
  __asm volatile("isb");
  Note(0xB1);  // equal to BASEPRI: masked
  __asm volatile("msr basepri, %0\n isb" ::"r"(0xA0));
  Note(0xB2);  // above it: taken before this
  __asm volatile("msr basepri, %0\n isb" ::"r"(0));
}

static void Waiting(void) {
  SCB_SCR = 1u << 4;            // SEVONPEND
  REG(0xE000E180) = 1u << 27;   // disabled: it pends, and is never taken
  __asm volatile("sev\n wfe");  // takes the event that is there
  REG(RTC0 + 0x540) = 50;       // the alarm pends RTC0, disabled as well
  REG(RTC0 + 0x304) = 1u << 16;
  REG(RTC0 + 0x000) = 1;
  __asm volatile("wfe");
  Note(0xC000 | REG(RTC0 + 0x140) << 8 | (REG(0xE000E200) >> 20 & 1));
}

void Main(void) {
  UartStart();
  LfclkStart();
  REG(0xE000ED20) = 0x00E00000;  // PendSV priority
  uint32_t *top = (uint32_t *)&stacks[1][64];
  *--top = 0x01000000;
  *--top = (uint32_t)Second;
  top -= 6;  // r0-r3, r12, lr
  *--top = 0xFFFFFFFD;
  top -= 8;  // r4-r11
  threads[1] = top;
  __asm volatile("svc 1");
  __asm volatile("msr psp, %0\n movs r0, #2\n msr control, r0\n isb" ::"r"(&stacks[0][64]) : "r0");
  __asm volatile("svc 2");
  __asm volatile("vmov.f32 s20, #2.0" ::: "s20");
  Switch();  // to the second one
  Note(Float());
  Switch();
  Note(Float());
  Masking();
  Waiting();
  Print("threads done\r\n");
  __asm volatile("movs r0, #3\n msr control, r0\n isb" ::: "r0");
  __asm volatile("svc 3");
  for (;;) __asm volatile("wfi");
}
