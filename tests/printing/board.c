// Start-up, printf's output on UARTE0, and time by SysTick, as a kernel has it.
#include "board.h"

#include <stddef.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define UARTE0 0x50008000u
#define CYCLES_PER_MS 64000u

static volatile uint32_t milliseconds;

extern uint32_t data_from[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
extern char heap_begin[], heap_end[];
int main(void);

void Reset(void) {
  REG(0xE000ED88) = 0x00F00000;  // CPACR: the FPU
  __asm volatile("dsb\n isb");
  for (uint32_t *to = data_begin, *from = data_from; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  REG(0xE000E014) = CYCLES_PER_MS - 1;  // SYST_RVR
  REG(0xE000E018) = 0;
  REG(0xE000E010) = 7;               // SYST_CSR: processor clock, TICKINT, ENABLE
  REG(UARTE0 + 0x50C) = 29;          // PSEL.TXD: P0.29
  REG(UARTE0 + 0x524) = 0x01D60000;  // 115200 baud
  REG(UARTE0 + 0x500) = 8;
  setvbuf(stdout, NULL, _IOLBF, 256);
  main();
  fflush(stdout);
  REG(0xE000E010) = 0;
  for (;;) __asm volatile("wfi");
}

void SysTick(void) { milliseconds++; }

void Fault(void) {
  for (;;) {
  }
}

int _write(int file, const char *text, int size) {
  static char buffer[256];
  (void)file;
  for (int sent = 0; sent < size;) {
    uint32_t count = 0;
    while (sent < size && count < sizeof buffer) buffer[count++] = text[sent++];
    REG(UARTE0 + 0x120) = 0;
    REG(UARTE0 + 0x544) = (uint32_t)buffer;
    REG(UARTE0 + 0x548) = count;
    __asm volatile("dsb" ::: "memory");
    REG(UARTE0 + 0x008) = 1;
    while (!REG(UARTE0 + 0x120)) {
    }
  }
  return size;
}

void *_sbrk(ptrdiff_t more) {
  static char *end = heap_begin;
  char *before = end;
  if (more > heap_end - end) return (void *)-1;
  end += more;
  return before;
}

int _close(int file) { return file ? -1 : 0; }
int _fstat(int file, void *state) {
  (void)file;
  ((uint32_t *)state)[1] = 0x2000;  // st_mode: a character device
  return 0;
}
int _isatty(int file) { return file >= 0; }
int _lseek(int file, int offset, int from) { return file & offset & from & 0; }
int _read(int file, char *to, int size) { return file && to && size ? 0 : 0; }
int _kill(int process, int signal) { return process & signal ? -1 : -1; }
int _getpid(void) { return 1; }
void _exit(int code) {
  (void)code;
  for (;;) __asm volatile("wfi");
}

uint32_t Milliseconds(void) { return milliseconds; }

void Sleep(uint32_t duration) {
  uint32_t begin = milliseconds;
  while (milliseconds - begin < duration) __asm volatile("wfi");
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)stack_top, Reset, [2 ... 14] = Fault, [15] = SysTick, [16 ... 80] = Fault};
