// Nested interrupts, SVC, PendSV with live FP registers, masking, RTC sleep.
#include "machine.h"

static uint32_t order;

static void Note(uint32_t what) { results[order++] = what; }

void Egu1(void) {
  REG(EGU1 + 0x100) = 0;
  Note(0x11);
}

void Egu0(void) {
  REG(EGU0 + 0x100) = 0;
  Note(0x01);
  REG(EGU1 + 0x000) = 1;  // more urgent: nests here
  Note(0x02);
  SCB_ICSR = 1u << 28;  // PendSV, least urgent: after this handler
  Note(0x03);
}

void PendSv(void) {
  __asm volatile("vmov.f32 s3, #1.0\n vmov.f32 s17, s17" ::: "s3");
  Note(0x14);
}

void Svc(void) { Note(0x0B); }

void Rtc0(void) {
  REG(RTC0 + 0x140) = 0;
  Note(0x24);
}

void Main(void) {
  UartStart();
  LfclkStart();
  REG(0xE000ED20) = 0x00E00000;  // PendSV priority
  NVIC_IPR(27) = 0x80;
  NVIC_IPR(28) = 0x40;
  NVIC_ISER(27) = 1u << 27 | 1u << 28 | 1u << 20;
  REG(EGU0 + 0x304) = 1;
  REG(EGU1 + 0x304) = 1;
  uint32_t live;
  __asm volatile("vmov.f32 s3, #2.5" ::: "s3");
  REG(EGU0 + 0x000) = 1;
  __asm volatile("vmov %0, s3" : "=r"(live));
  Note(live);
  __asm volatile("svc 7");
  __asm volatile("cpsid i");
  REG(EGU1 + 0x000) = 1;
  Note(0x51);
  __asm volatile("cpsie i");
  Note(0x52);
  REG(RTC0 + 0x540) = 100;
  REG(RTC0 + 0x304) = 1u << 16;
  REG(RTC0 + 0x000) = 1;
  __asm volatile("wfi");
  Note(0x53);
  Print("exceptions done\r\n");
}
