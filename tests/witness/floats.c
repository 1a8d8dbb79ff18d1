// Floating-point contexts: stacked at once, later, or not at all.
#include "witness.h"

enum { FPCA = 4 };
static volatile uint32_t frame_slot, frame_before, after, link, fpcar, fpccr, control, sp_frame;
static volatile int mode;

static inline uint32_t Control(void) {
  uint32_t value;
  __asm volatile("mrs %0, control" : "=r"(value));
  return value;
}

__attribute__((used)) static void Look(uint32_t *frame, uint32_t exc_return) {
  link = exc_return;
  sp_frame = (uint32_t)frame;
  fpccr = FPCCR;
  fpcar = FPCAR;
  control = Control();
  frame_before = frame[8];
  after = frame[7];
  if (mode == 1) __asm volatile("vmov s0, %0" ::"r"(0x55555555));
  if (mode == 5) __asm volatile("vmov s1, %0" ::"r"(0x55555555));
  if (mode == 2) {  // not executed
    __asm volatile("cmp %0, #1\n it eq\n vmoveq s0, %0" ::"r"(0) : "cc");
  }
  if (mode == 3) frame[8] = 0x77777777;
  if (mode == 4) FPCAR = 0x2FFFFF00;  // nothing answers
  if (mode == 4) BARRIER();
  if (mode == 4) __asm volatile("vmov s0, %0" ::"r"(0));
  frame_slot = frame[8];
}

__attribute__((naked)) void IrqA(void) { __asm volatile("mov r0, sp\n mov r1, lr\n b Look"); }

static uint32_t Interrupted(int how) {
  uint32_t result;
  mode = how;
  // r4: a mark in the word that the frame gives to s0
  __asm volatile(
      "sub sp, #256\n mov r0, #0x99999999\n mov r1, sp\n add r2, sp, #252\n"
      "1: str r0, [r1], #4\n cmp r1, r2\n blo 1b\n add sp, #256\n"
      "vmov.f32 s0, #3.0\n"
      "str %2, [%1]\n dsb\n isb\n"
      "vmov %0, s0\n"
      : "=r"(result)
      : "r"(&ISPR), "r"(1u << IRQ_A)
      : "r0", "r1", "r2", "s0", "cc", "memory");
  return result;
}

void Main(void) {
  Tell("fpccr_reset", FPCCR);
  Tell("fpcar_reset", FPCAR);
  FPCCR = 0xFFFFFFFF & ~1u;
  Tell("fpccr_all_ones", FPCCR);
  FPCCR = 0xC0000004;
  FPDSCR = 0xFFFFFFFF;
  Tell("fpdscr_all_ones", FPDSCR & 0xFFF00000);
  FPDSCR = 0;
  FPCAR = 0xFFFFFFFF;
  Tell("fpcar_all_ones", FPCAR);
  ISER = 1u << IRQ_A;
  Tell("lazy_value", Interrupted(0));
  Tell("lazy_slot", frame_slot);
  Tell("lazy_exc_return", link);
  Tell("lazy_fpcar", fpcar - sp_frame);
  Tell("lazy_fpccr", fpccr & 0xC000000F);
  Tell("lazy_control", control);
  Tell("lazy_retpsr_sfpa", after & 1u << 20);
  Tell("lazy_left", FPCCR & 1);
  Tell("used_value", Interrupted(1));
  Tell("used_slot", frame_slot);
  Tell("used_left", FPCCR & 1);
  Tell("skipped_value", Interrupted(2));
  Tell("skipped_slot", frame_slot);
  Tell("unread_slot_value", Interrupted(3));  // the return does not load what was not stored
  FPCCR = 0x80000004;
  Tell("eager_value", Interrupted(0));
  Tell("eager_slot", frame_slot);
  Tell("eager_fpccr", fpccr & 0xC0000001);
  Tell("eager_slot_value", Interrupted(3));
  FPCCR = 0xC4000004;
  Interrupted(1);
  Tell("ts_used_slot", frame_slot);
  Tell("ts_fpcar", fpcar - sp_frame);
  FPCCR = 0xD0000004;
  Tell("clronret_value", Interrupted(0));
  Tell("clronret_used_value", Interrupted(1));
  FPCCR = 0xD0000004;
  uint32_t off = Control() & ~FPCA, s1;
  __asm volatile("vmov s1, %0\n msr control, %1\n isb" ::"r"(0x12345678), "r"(off) : "s1");
  mode = 0;
  ISPR = 1u << IRQ_A;
  BARRIER();
  __asm volatile("vmov %0, s1" : "=r"(s1));
  Tell("clronret_without_context", s1);
  __asm volatile("vmov s1, %0\n msr control, %1\n isb" ::"r"(0x12345678), "r"(off) : "s1");
  mode = 5;
  ISPR = 1u << IRQ_A;
  BARRIER();
  __asm volatile("vmov %0, s1" : "=r"(s1));
  Tell("clronret_cleared", s1);
  FPCCR = 0x40000004;  // without ASPEN an instruction does not set FPCA
  off = Control() & ~FPCA;
  __asm volatile("msr control, %0\n isb" ::"r"(off));
  Interrupted(0);
  Tell("aspen_exc_return", link);
  Tell("aspen_control", Control() & 15);
  FPCCR = 0xC0000004;
  BARRIER();
  off = Control() & ~(FPCA | 8u);
  FPDSCR = 0x03000000;
  __asm volatile("vmov s0, %0\n vmsr fpscr, %0" ::"r"(0));
  __asm volatile("msr control, %0\n isb" ::"r"(off));
  uint32_t fpscr;
  __asm volatile("vmrs %0, fpscr" : "=r"(fpscr));
  Tell("fpdscr_new_context", fpscr);
  FPDSCR = 0;
  CPACR = 0;
  BARRIER();
  __asm volatile("vmov s0, %0" ::"r"(0));
  Tell("no_cpacr", Caught());
  CPACR = 0x00F00000;
  BARRIER();
  FPCCR = 0xC0000004;
  __asm volatile("vmov s0, %0" ::"r"(0));
  resume = 0;
  Interrupted(4);
  Tell("store_refused", Caught() & 0xFFFFFF00);
  Tell("store_refused_left", FPCCR & 1);
}
