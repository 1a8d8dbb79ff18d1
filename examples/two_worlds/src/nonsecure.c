// The non-secure image: takes SysTick, PendSV and a timer's interrupt through its own vector table,
// while the secure one takes its own, and prints through a gateway how many each world took.
#include "worlds.h"

// nRF9160 Product Specification v2.1, "CLOCK", "RTC"; the addresses of the non-secure world.
#define CLOCK 0x40005000u
#define RTC0 0x40014000u
#define COMPARES 2u
#define TICKS 3u

static volatile uint32_t ticks, pends, compares, exceptions;

extern uint32_t _bss_start[], _bss_end[], _stack_top[];

// The exception that runs, as the core numbers it: SysTick 15, PendSV 14, RTC0 36.
static void Note(void) {
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  exceptions |= 1u << (number & 31);
}

void SysTick(void) {
  Note();
  ICSR = 1u << 28;  // PENDSVSET: after this handler, as it is less urgent
  if (++ticks == TICKS) SYST_CSR = 0;
}

void PendSv(void) {
  Note();
  pends++;
}

void Rtc0(void) {
  Note();
  REG(RTC0 + 0x140) = 0;                              // EVENTS_COMPARE[0]
  REG(RTC0 + 0x540) += 33;                            // CC[0]: 1 ms on
  if (++compares == COMPARES) REG(RTC0 + 0x004) = 1;  // TASKS_STOP
}

static void Count(const char *name, uint32_t value, char *line, uint32_t *size) {
  while (*name) line[(*size)++] = *name++;
  line[(*size)++] = '=';
  line[(*size)++] = (char)('0' + value % 10);
  line[(*size)++] = ' ';
}

static void Line(const char *text, char *line, uint32_t size) {
  while (*text) line[size++] = *text++;
  Say(line, size);
}

static void Main(void) {
  char line[80];
  uint32_t size = 0;
  SHPR3 = 0xE0u << 16 | 0x80u << 24;  // PendSV, SysTick
  REG(CLOCK + 0x008) = 1;             // TASKS_LFCLKSTART
  REG(RTC0 + 0x540) = 33;
  REG(RTC0 + 0x304) = 1u << 16;  // INTENSET: COMPARE[0]
  NVIC_ISER0 = 1u << RTC0_IRQ;
  REG(RTC0 + 0x000) = 1;
  SYST_RVR = TICK_CYCLES / 2 - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;
  Ring();
  while (ticks < TICKS || compares < COMPARES || Taken() >> 16 < 3) __asm volatile("wfi");
  Ring();
  Count("systick", ticks, line, &size);
  Count("pendsv", pends, line, &size);
  Count("rtc", compares, line, &size);
  Count("as", exceptions == (1u << 15 | 1u << 14 | 1u << (36 & 31)), line, &size);
  Line("non-secure\n", line, size);
  size = 0;
  Count("systick", Taken() >> 16, line, &size);
  Count("egu", Taken() & 0xFFFF, line, &size);
  Line("secure\n", line, size);
  Say((const char *)0x20000000, 4);  // secure memory: refused
  Line("both worlds done\n", line, 0);
}

void Reset(void) {
  for (uint32_t *word = _bss_start; word < _bss_end;) *word++ = 0;
  Main();
  for (;;) __asm volatile("wfi");
}

static void Fault(void) {
  char line[32];
  Line("non-secure fault\n", line, 0);
  for (;;) __asm volatile("cpsid i\n wfi");
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)_stack_top, Reset,          [2 ... 7] = Fault,
    [14] = PendSv,      [15] = SysTick, [16 + RTC0_IRQ] = Rtc0,
};
