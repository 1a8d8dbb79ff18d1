// Both security states: registers of the other one, calls, faults, interrupts of either.
#include "witness.h"

#define NS(address) REG((address) + 0x20000)
#define SFSR REG(0xE000EDE4)
#define SFAR REG(0xE000EDE8)

#ifdef QEMU
enum { NONSECURE = 0x28200000 };
static void Divide(void) {
  REG(0x58009000) |= 1u << 8;  // the memory protection controller: count BLK_IDX on
  REG(0x58009018) = 0;
  for (uint32_t i = 0; i <= REG(0x58009010); i++) REG(0x5800901C) = 0xFFFFFFFF;
  REG(0xE000EDD8) = 0;  // SAU: one region
  REG(0xE000EDDC) = NONSECURE;
  REG(0xE000EDE0) = (NONSECURE + 0x1FFFE0) | 1;
  REG(0xE000EDD0) = 1;
  BARRIER();
}
#else
enum { NONSECURE = 0x20020000 };
static void Divide(void) {
  for (uint32_t i = 16; i < 32; i++) REG(0x50003700 + 4 * i) = 7;  // SPU.RAMREGION[n].PERM
  REG(0xE000EDD0) = 2;                                             // SAU_CTRL.ALLNS
  BARRIER();
}
#endif
enum { CODE = NONSECURE + 0x400, LINK = NONSECURE + 0x1000, STACK = NONSECURE + 0x8000 };

// Copy non-secure code, which is halfwords, and call it with r0; gives its r0.
static uint32_t Call(const uint16_t *code, uint32_t count, uint32_t r0) {
  for (uint32_t i = 0; i < count; i++) ((volatile uint16_t *)CODE)[i] = code[i];
  BARRIER();
  register uint32_t value __asm("r0") = r0;
  register uint32_t target __asm("r3") = CODE;
  __asm volatile("push {r4-r11}\n blxns r3\n pop {r4-r11}"
                 : "+r"(value), "+r"(target)::"r1", "r2", "r12", "lr", "cc", "memory", "s0");
  return value;
}

static const uint16_t kLoad[] = {0x6800, 0x4770};          // ldr r0, [r0]; bx lr
static const uint16_t kVmov[] = {0xEE00, 0x0A10, 0x4770};  // vmov s0, r0; bx lr
// An interrupt's handler: stores lr and r1 at LINK (r0: its upper half, from a literal).
static const uint16_t kHandler[] = {
    0x4803, 0xF8C0, 0xE000, 0x6041, 0x4770, 0xBF00, 0xBF00, 0xBF00, LINK & 0xFFFF, LINK >> 16,
};  // ldr r0, [pc, #12]; str lr, [r0]; str r1, [r0, #4]; bx lr
static const uint16_t kFloating[] = {
    0x4803, 0xF8C0, 0xE000, 0xEE00, 0x0A10, 0x4770, 0xBF00, 0xBF00, LINK & 0xFFFF, LINK >> 16,
};  // the same with vmov s0, r0

static uint32_t slot;

// An interrupt of the non-secure state while secure code has r1 and s0; gives s0 afterwards.
static uint32_t Interrupted(const uint16_t *handler) {
  uint32_t value;
  for (uint32_t i = 0; i < 10; i++) ((volatile uint16_t *)(CODE + 0x100))[i] = handler[i];
  BARRIER();
  __asm volatile(
      "vmov.f32 s0, #3.0\n ldr r1, =0x12345678\n str %2, [%1]\n dsb\n isb\n vmov %0, s0\n"
      : "=r"(value)
      : "r"(&ISPR), "r"(1u << IRQ_A)
      : "r1", "s0", "memory");
  slot = *(volatile uint32_t *)(FPCAR & ~7u);
  return value;
}

void Main(void) {
  FPCCR = 0xFC0007FE;
  NS(0xE000EF34) = 0xFFFFFFFE;
  Tell("fpccr_ns_all_ones", NS(0xE000EF34));
  NS(0xE000EF34) = 0;
  Tell("fpccr_kept_by_lspens", NS(0xE000EF34));
  FPCCR = 0;
  NS(0xE000EF34) = 0x50000000;
  Tell("fpccr_shared", FPCCR);
  NS(0xE000EF34) = 0x80000000;
  FPCCR = 0xC0000004;
  NSACR = 0xFFFFFFFF;
  Tell("nsacr_all_ones", NSACR & 0xC00);
  Divide();
  __asm volatile("msr msp_ns, %0" ::"r"(STACK));
  NS(0xE000ED08) = NONSECURE;  // VTOR
  for (uint32_t i = 0; i < 80; i++) ((volatile uint32_t *)NONSECURE)[i] = CODE + 0x101;
  NS(0xE000ED88) = 0x00F00000;  // CPACR
  Tell("call_nsacr", Call(kLoad, 2, 0xE000ED8C));
  Tell("call_alias", Call(kLoad, 2, 0xE002ED88));
  Tell("call_vmov", (Call(kVmov, 3, 1), Caught()));
  NSACR = 0;
  __asm volatile("mrs r0, control\n bic r0, #12\n msr control, r0\n isb" ::: "r0");  // no context
  Call(kVmov, 3, 1);
  Tell("nsacr_denies", Caught());
  NSACR = 0xC00;
  BARRIER();
  Call(kLoad, 2, (uint32_t)&slot);
  Tell("reads_secure", Caught());
  Tell("reads_secure_sfsr", fault.sfsr);
  ISER = 1u << IRQ_A;
  REG(0xE000E380) = 1u << IRQ_A;  // ITNS
  Tell("interrupted_value", Interrupted(kHandler));
  Tell("interrupted_link", REG(LINK));
  Tell("interrupted_r1", REG(LINK + 4));
  Tell("floating_value", Interrupted(kFloating));
  Tell("floating_slot", slot);
  Tell("floating_left", FPCCR & 1);
}
