// The secure frame: half of flash and RAM behind it is non-secure, and EGU1's interrupt. It prints
// for the other image, and the fault that the other image is refused with.
#include "worlds.h"

#define ENTRY __attribute__((cmse_nonsecure_entry))
#define UARTE0 0x50008000u

static volatile uint32_t taken;
extern uint32_t _bss_start[], _bss_end[], _stack_top[];

static void Send(uint32_t size, const char *line) {
  REG(UARTE0 + 0x544) = (uint32_t)line;
  REG(UARTE0 + 0x548) = size;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  while (!REG(UARTE0 + 0x120)) {
  }
}

static void Word(const char *name, uint32_t value) {
  static char line[64];
  uint32_t size = 0;
  while (name[size] && size < 40) {
    line[size] = name[size];
    size++;
  }
  line[size++] = '=';
  for (int shift = 28; shift >= 0; shift -= 4) {
    line[size++] = "0123456789abcdef"[value >> shift & 15];
  }
  line[size++] = '\n';
  Send(size, line);
}

ENTRY void PrintWord(const char *name, uint32_t value) { Word(name, value); }
ENTRY uint32_t SecureRegister(uint32_t address) { return REG(address); }
ENTRY uint32_t SecureTaken(void) { return taken; }
ENTRY void Done(void) {
  static char line[3];
  for (uint32_t n = 0; n < 3; n++) line[n] = "ok\n"[n];
  Send(3, line);
}

static void Taken(void) { taken++; }

static void Fault(void) {
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  Word("exception", number);
  Word("sfsr", REG(0xE000EDE4));
  for (;;) __asm volatile("cpsid i\n wfi");
}

void Reset(void) {
  typedef void __attribute__((cmse_nonsecure_call)) Start(void);
  const volatile uint32_t *table = (const volatile uint32_t *)0x8000;
  for (uint32_t *word = _bss_start; word < _bss_end;) *word++ = 0;
  REG(UARTE0 + 0x50C) = 29;
  REG(UARTE0 + 0x524) = 0x01D60000;
  REG(UARTE0 + 0x500) = 8;
  for (uint32_t n = 1; n < 32; n++) {
    REG(0x50003600 + 4 * n) = 7;  // FLASHREGION, RAMREGION
    REG(0x50003700 + 4 * n) = 6;
  }
  REG(0x50003500) = 0;                    // FLASHNSC[0]: the end of the first region
  REG(0x50003504) = 4;                    // 256 bytes
  REG(0x50003800 + 4 * 28) &= ~0x30u;     // EGU1
  REG(0xE000EDD0) = 2;                    // SAU_CTRL.ALLNS
  REG(0xE000E380) = 1u << IRQ_NONSECURE;  // NVIC_ITNS
  REG(0xE000E100) = 1u << IRQ_SECURE;     // NVIC_ISER
  REG(0xE000ED24) |= 0xFu << 16;          // SHCSR: all faults
  REG(0xE000ED88) = 0x00F00000;           // CPACR
  REG(0xE000ED8C) |= 3u << 10;            // NSACR: CP10, CP11
  CCR |= DIV_0_TRP;
  REG(0xE002ED08) = 0x8000;  // VTOR_NS
  __asm volatile("msr msp_ns, %0\n dsb\n isb" ::"r"(table[0]) : "memory");
  ((Start *)(table[1] & ~1u))();
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)_stack_top,
    Reset,
    [2 ... 7] = Fault,
    [16 + IRQ_SECURE] = Taken,
};
