// What the simulator's test firmwares share: registers, console, results.
#ifndef TESTS_FIRMWARE_MACHINE_H_
#define TESTS_FIRMWARE_MACHINE_H_
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define UARTE0 0x50008000u
#define EGU0 0x5001B000u
#define EGU1 0x5001C000u
#define RTC0 0x50014000u
#define SCB_ICSR REG(0xE000ED04)
#define SCB_AIRCR REG(0xE000ED0C)
#define SCB_SCR REG(0xE000ED10)
#define SCB_SHCSR REG(0xE000ED24)
#define SCB_CPACR REG(0xE000ED88)
#define NVIC_ISER(irq) REG(0xE000E100 + 4 * ((irq) / 32))
#define NVIC_ICER(irq) REG(0xE000E180 + 4 * ((irq) / 32))
#define NVIC_ISPR(irq) REG(0xE000E200 + 4 * ((irq) / 32))
#define NVIC_ICPR(irq) REG(0xE000E280 + 4 * ((irq) / 32))
#define NVIC_IPR(irq) (*(volatile uint8_t *)(0xE000E400 + (irq)))

volatile uint32_t results[64];

static void UartStart(void) {
  REG(UARTE0 + 0x50C) = 29;          // PSEL.TXD: P0.29
  REG(UARTE0 + 0x514) = 28;          // PSEL.RXD: P0.28
  REG(UARTE0 + 0x524) = 0x01D60000;  // 115200 baud
  REG(UARTE0 + 0x500) = 8;
}

// It runs 0.6 ms later; until then the RTC stands.
__attribute__((unused)) static void LfclkStart(void) { REG(0x50005008) = 1; }

static void Print(const char *text) {
  static char line[64];
  uint32_t size = 0;
  while (text[size] && size < sizeof line) {
    line[size] = text[size];
    size++;
  }
  REG(UARTE0 + 0x544) = (uint32_t)line;
  REG(UARTE0 + 0x548) = size;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
  while (!REG(UARTE0 + 0x120)) {
  }
}

void Main(void);
void Svc(void) __attribute__((weak));         // absent: a null vector
void PendSv(void) __attribute__((weak));      // absent: a null vector
void HardFault(void) __attribute__((weak));   // absent: a null vector
void MemManage(void) __attribute__((weak));   // absent: a null vector
void UsageFault(void) __attribute__((weak));  // absent: a null vector
void Egu0(void) __attribute__((weak));        // absent: a null vector
void Egu1(void) __attribute__((weak));        // absent: a null vector
void Rtc0(void) __attribute__((weak));        // absent: a null vector
void Gpiote0(void) __attribute__((weak));     // absent: a null vector
void Power(void) __attribute__((weak));       // absent: a null vector
void Uarte0(void) __attribute__((weak));      // absent: a null vector

extern uint32_t bss_start[], bss_end[];

void Reset(void) {
  for (uint32_t *word = bss_start; word < bss_end;) *word++ = 0;
  SCB_CPACR = 0x00F00000;
  __asm volatile("dsb\n isb");
  Main();
  for (;;) __asm volatile("wfi");
}

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) const Vector vectors[16 + 65] = {
    (Vector)0x20010000, Reset,
    [3] = HardFault,    [4] = MemManage,
    [6] = UsageFault,   [11] = Svc,
    [14] = PendSv,      [16 + 13] = Gpiote0,
    [36] = Rtc0,        [16 + 27] = Egu0,
    [16 + 28] = Egu1,   [16 + 5] = Power,
    [16 + 8] = Uarte0,
};
#endif  // TESTS_FIRMWARE_MACHINE_H_
