// The frame of the hostile images: start-up, console as the nRF9160 DK is wired, fault reports.
// An image defines Behave(), which does something twice: with HOSTILE in a way that the chip
// refuses, ruins or keeps silent, without it in the right way. Then the frame prints "ok".
#ifndef TESTS_HOSTILE_IMAGE_H_
#define TESTS_HOSTILE_IMAGE_H_
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define UARTE0 0x50008000u
#define CPACR REG(0xE000ED88)
#define CCR REG(0xE000ED14)
#define SHCSR REG(0xE000ED24)
#define CFSR REG(0xE000ED28)
#define HFSR REG(0xE000ED2C)
#define SFSR REG(0xE000EDE4)
#define ICSR REG(0xE000ED04)
#define DSB() __asm volatile("dsb\n isb" ::: "memory")

void Behave(void);
extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

static void StartConsole(void) {
  REG(UARTE0 + 0x500) = 0;           // ENABLE
  REG(UARTE0 + 0x50C) = 29;          // PSEL.TXD: P0.29
  REG(UARTE0 + 0x514) = 28;          // PSEL.RXD: P0.28
  REG(UARTE0 + 0x524) = 0x01D60000;  // BAUDRATE: 115,200
  REG(UARTE0 + 0x56C) = 0;           // CONFIG: no parity, one stop bit, no flow control
  REG(UARTE0 + 0x500) = 8;
}

__attribute__((unused)) static void Print(const char *text) {
  static char line[96];
  uint32_t size = 0;
  while (text[size] && size < sizeof line) {
    line[size] = text[size];
    size++;
  }
  REG(UARTE0 + 0x544) = (uint32_t)line;  // TXD.PTR
  REG(UARTE0 + 0x548) = size;            // TXD.MAXCNT
  REG(UARTE0 + 0x120) = 0;               // EVENTS_ENDTX
  REG(UARTE0 + 0x008) = 1;               // TASKS_STARTTX
  while (!REG(UARTE0 + 0x120)) {
  }
}

__attribute__((unused)) static void PrintWord(const char *name, uint32_t value) {
  static const char kDigits[] = "0123456789abcdef";
  char text[64];
  uint32_t size = 0;
  while (name[size] && size < 48) {
    text[size] = name[size];
    size++;
  }
  text[size++] = '=';
  for (int shift = 28; shift >= 0; shift -= 4) text[size++] = kDigits[value >> shift & 15];
  text[size++] = '\n';
  text[size] = 0;
  Print(text);
}

// On a stack of its own, because the fault may be that the stack is full.
__attribute__((used, noreturn)) static void ReportFault(void) {
  CCR &= ~(3u << 3);  // DIV_0_TRP, UNALIGN_TRP
  StartConsole();
  PrintWord("exception", ICSR & 0x1FF);
  PrintWord("cfsr", CFSR);
  PrintWord("hfsr", HFSR);
  PrintWord("sfsr", SFSR);
  for (;;) __asm volatile("wfi");
}

__attribute__((naked)) void Fault(void) {
  __asm volatile(
      "cpsid i\n movs r0, #0\n msr msplim, r0\n ldr r0, =stack_top\n mov sp, r0\n b ReportFault");
}

#ifndef OWN_RESET
__attribute__((noreturn)) void Reset(void) {
  for (uint32_t *from = data_load, *to = data_start; to < data_end;) *to++ = *from++;
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  CPACR |= 0x00F00000;
  SHCSR |= 7u << 16 | 1u << 19;  // MEMFAULTENA, BUSFAULTENA, USGFAULTENA, SECUREFAULTENA
  DSB();
  StartConsole();
  Behave();
  Print("ok\n");
  for (;;) __asm volatile("wfi");
}
#else
void Reset(void);
#endif

// Handlers that an image may define; image.ld lets the others be Fault.
void HardFault(void);
void MemManage(void);
void BusFault(void);
void UsageFault(void);
void SecureFault(void);
void Svc(void);
void PendSv(void);
void SysTick(void);
void Irq0(void);
void Irq1(void);
void Irq2(void);

#ifndef IRQ0
#define IRQ0 27  // EGU0
#endif
#ifndef IRQ1
#define IRQ1 28  // EGU1
#endif
#ifndef IRQ2
#define IRQ2 29  // EGU2
#endif

typedef void (*Vector)(void);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef BARE
__attribute__((section(".vectors"), used)) const Vector vectors[] = {(Vector)stack_top, Reset};
#elif defined WITHOUT_HANDLERS
__attribute__((section(".vectors"), used))
const Vector vectors[16 + 65] = {(Vector)stack_top, Reset};
#else
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    [0] = (Vector)stack_top, [1] = Reset,        [2] = Fault,
    [3] = HardFault,         [4] = MemManage,    [5] = BusFault,
    [6] = UsageFault,        [7] = SecureFault,  [11] = Svc,
    [14] = PendSv,           [15] = SysTick,     [16 ... 80] = Fault,
    [16 + IRQ0] = Irq0,      [16 + IRQ1] = Irq1, [16 + IRQ2] = Irq2,
};
#endif
#pragma GCC diagnostic pop
#endif  // TESTS_HOSTILE_IMAGE_H_
