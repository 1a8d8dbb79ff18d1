// Priorities, masks, escalation, tail-chaining, SysTick, EXC_RETURN.
#include "witness.h"

static volatile uint32_t order, count, link_a, link_b, active;
static volatile int nest;

static void Came(uint32_t digit) { order = order << 4 | digit; }

__attribute__((used)) static void DoA(uint32_t exc_return) {
  link_a = exc_return;
  Came(0xA);
  if (nest == 1) {
    ISPR = 1u << IRQ_B;
    BARRIER();
    Came(0xE);
  }
  if (nest == 2) __asm volatile("svc 0");
  if (nest == 2) Came(0xE);
  if (nest == 3) *(volatile uint32_t *)0x2FFFFF00 = 0;  // nothing answers
  if (nest == 4) ICSR = 1u << 28;
  if (nest == 4) Came(0xE);
}
__attribute__((naked)) void IrqA(void) { __asm volatile("mov r0, lr\n b DoA"); }
__attribute__((used)) static void DoB(uint32_t exc_return) {
  link_b = exc_return;
  active = IABR;
  Came(0xB);
}
__attribute__((naked)) void IrqB(void) { __asm volatile("mov r0, lr\n b DoB"); }
void Svc(void) { Came(0x5); }
void PendSv(void) { Came(0xD); }
void SysTick(void) {
  order = 0xC;  // the host's time may let it come twice
  REG(0xE000E010) = 0;
}

static uint32_t Order(void) {
  uint32_t value = order;
  order = 0;
  return value;
}

static void Pend(uint32_t irqs) {
  ISPR = irqs;
  BARRIER();
}

void Main(void) {
  const uint32_t a = 1u << IRQ_A, b = 1u << IRQ_B;
  uint32_t value;
  ISER = a | b;
  IPR(IRQ_A) = 0xFF;
  Tell("priority_bits", IPR(IRQ_A) & 0xE0);
  IPR(IRQ_A) = 0x40;
  IPR(IRQ_B) = 0x40;
  Pend(a | b);
  Tell("equal_priority", Order());
  Tell("exc_return_thread", link_a);
  nest = 1;
  Pend(a);
  Tell("equal_does_not_nest", Order());
  IPR(IRQ_B) = 0x20;
  Pend(a);
  Tell("urgent_nests", Order());
  Tell("exc_return_nested", link_b);
  Tell("active_bits", active);
  IPR(IRQ_B) = 0x60;
  Pend(a);
  Tell("less_urgent_waits", Order());
  Tell("exc_return_chained", link_b);
  nest = 4;
  SHPR3 = 0x00E00000;
  Pend(a);
  BARRIER();
  Tell("pendsv_after", Order());
  nest = 0;
  Mask(1, 0);
  Pend(a);
  Tell("primask", Order());
  Mask(0, 0);
  Tell("primask_off", Order());
  Mask(0, 0x40);
  Pend(a);
  Tell("basepri_equal", Order());
  Mask(0, 0x60);
  BARRIER();
  Tell("basepri_above", Order());
  Mask(0, 0x20);
  __asm volatile("msr basepri_max, %1\n mrs %0, basepri" : "=r"(value) : "r"(0x40));
  Tell("basepri_max_keeps", value);
  __asm volatile("msr basepri_max, %1\n mrs %0, basepri" : "=r"(value) : "r"(0));
  Tell("basepri_max_zero", value);
  Mask(0, 0x5F);
  __asm volatile("mrs %0, basepri" : "=r"(value));
  Tell("basepri_bits", value);
  Mask(0, 0);
  __asm volatile("cpsid f");
  Pend(a);
  Tell("faultmask", Order());
  __asm volatile("cpsie f\n isb");
  Tell("faultmask_off", Order());
  __asm volatile("svc 0");
  Tell("svc", Order());
  SHPR2 = 0x80u << 24;  // SVC less urgent than interrupt A
  nest = 2;
  Pend(a);
  Tell("svc_escalates", fault.exception);
  Tell("svc_escalates_hfsr", fault.hfsr);
  Order();
  SHPR2 = 0;
  Caught();
  nest = 3;
  SHPR1 = 0x60 << 8;  // BusFault less urgent than interrupt A
  Pend(a);
  Tell("fault_escalates", Caught());
  Tell("fault_escalates_hfsr", fault.hfsr);
  SHPR1 = 0;
  Order();
  Pend(a);
  Tell("fault_preempts", Caught());
  Order();
  nest = 0;
  SHCSR &= ~(1u << 18);
  __asm volatile("udf 0");
  Tell("disabled_fault", Caught());
  Tell("disabled_fault_hfsr", fault.hfsr);
  SHCSR |= 1u << 18;
  __asm volatile("udf 0");
  Tell("undefined", Caught());
  Mask(1, 0);
  __asm volatile("udf 0");
  Tell("undefined_primask", Caught());
  Tell("undefined_primask_hfsr", fault.hfsr);
  Mask(0, 0);
  Tell("systick_csr_reset", REG(0xE000E010) & 3);
  REG(0xE000E014) = 100;
  REG(0xE000E018) = 0;
  REG(0xE000E010) = 7;
  for (int i = 0; i < 3000000 && !order; i++) __asm volatile("nop\n isb");
  Tell("systick", Order());
}
