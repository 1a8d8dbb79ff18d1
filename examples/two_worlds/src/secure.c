// The secure image: divides the chip, starts the other image, prints for it, and takes interrupts
// of its own meanwhile.
#include <arm_cmse.h>

#include "worlds.h"

#define ENTRY __attribute__((cmse_nonsecure_entry))
#define NONSECURE_IMAGE 0x8000u

// nRF9160 Product Specification v2.1, "SPU", "UARTE", "EGU".
#define SPU 0x50003000u
#define UARTE0 0x50008000u
#define TICKS 3u

static volatile uint32_t ticks, rings;

extern uint32_t _bss_start[], _bss_end[], _stack_top[];

static void Attribute(void) {
  static const uint32_t kGiven[] = {5, RTC0_IRQ};  // CLOCK and RTC0, by peripheral id
  for (uint32_t n = 1; n < 32; n++) {              // behind the first 32 KB and 8 KB
    REG(SPU + 0x600 + 4 * n) = 7;                  // FLASHREGION: all may be done there
    REG(SPU + 0x700 + 4 * n) = 6;                  // RAMREGION: no execution
  }  //
  REG(SPU + 0x500) = 0;  // FLASHNSC[0].REGION
  REG(SPU + 0x504) = 4;  // SIZE: 256 bytes, where gateways lie
  for (uint32_t n = 0; n < 2; n++) REG(SPU + 0x800 + 4 * kGiven[n]) &= ~0x30u;  // SECATTR, DMASEC
  NVIC_ITNS0 = 1u << RTC0_IRQ;
  REG(0xE000EDD0) = 2;  // SAU_CTRL.ALLNS: the SPU decides
  __asm volatile("dsb\n isb" ::: "memory");
}

static void StartConsole(void) {
  REG(UARTE0 + 0x50C) = 29;          // PSEL.TXD, as the nRF9160 DK is wired
  REG(UARTE0 + 0x524) = 0x01D60000;  // BAUDRATE: 115,200
  REG(UARTE0 + 0x500) = 8;
}

static void StartNonSecure(void) {
  const volatile uint32_t *table = (const volatile uint32_t *)NONSECURE_IMAGE;
  typedef void __attribute__((cmse_nonsecure_call)) Start(void);
  REG(0xE002ED08) = NONSECURE_IMAGE;  // VTOR_NS
  __asm volatile("msr msp_ns, %0" ::"r"(table[0]));
  ((Start *)(table[1] & ~1u))();
}

void Reset(void) {
  for (uint32_t *word = _bss_start; word < _bss_end;) *word++ = 0;
  _stack_top[0] = _stack_top[1] = 0xFEF5EDA5;  // seals the stack: no frame begins so
  Attribute();
  StartConsole();
  NVIC_ISER0 = 1u << EGU0_IRQ;
  SYST_RVR = TICK_CYCLES - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;
  StartNonSecure();
}

void SysTick(void) {
  if (++ticks == TICKS) SYST_CSR = 0;
}

void Egu0(void) { rings++; }

// ---- gateways

ENTRY int Say(const char *text, uint32_t size) {
  static char line[96];
  if (size > sizeof line) return -1;
  if (!cmse_check_address_range((void *)text, size, CMSE_NONSECURE | CMSE_MPU_READ)) return -1;
  for (uint32_t n = 0; n < size; n++) line[n] = text[n];
  REG(UARTE0 + 0x544) = (uint32_t)line;  // TXD.PTR
  REG(UARTE0 + 0x548) = size;            // TXD.MAXCNT
  REG(UARTE0 + 0x120) = 0;               // EVENTS_ENDTX
  REG(UARTE0 + 0x008) = 1;               // TASKS_STARTTX
  while (!REG(UARTE0 + 0x120)) {
  }
  return 0;
}

ENTRY void Ring(void) {
  NVIC_ISPR0 = 1u << EGU0_IRQ;
  __asm volatile("dsb\n isb" ::: "memory");
}

ENTRY uint32_t Taken(void) { return ticks << 16 | rings; }

static void Fault(void) {
  static const char kText[] = "secure fault\n";
  static char line[sizeof kText];
  for (uint32_t n = 0; n < sizeof kText; n++) line[n] = kText[n];
  REG(UARTE0 + 0x544) = (uint32_t)line;
  REG(UARTE0 + 0x548) = sizeof line - 1;
  REG(UARTE0 + 0x008) = 1;
  for (;;) __asm volatile("cpsid i\n wfi");
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)_stack_top, Reset, [2 ... 7] = Fault, [15] = SysTick, [16 + EGU0_IRQ] = Egu0,
};
