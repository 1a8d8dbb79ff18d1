// Prints the text that tests/golden/images.py writes into its image, then sleeps for ever.
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define UARTE0 0x50008000u
#define CAPACITY 65536
#define PART 4096

__attribute__((section(".console"), used)) const volatile struct {
  char mark[16];
  uint32_t size;
  uint8_t text[CAPACITY];
} console = {"golden console:", 0, {0}};

#ifdef MODEL
__asm__(
    ".section .rodata.model, \"a\"\n"
    ".balign 16\n"
    ".global model\n"
    ".type model, %object\n"
    "model: .incbin \"" MODEL
    "\"\n"
    ".size model, . - model\n"
    ".previous\n");
extern const volatile uint8_t model[];
#endif

static uint8_t part[PART];  // EasyDMA reads RAM only

static void Send(uint32_t size) {
  REG(UARTE0 + 0x544) = (uint32_t)part;  // TXD.PTR
  REG(UARTE0 + 0x548) = size;            // TXD.MAXCNT
  REG(UARTE0 + 0x120) = 0;               // EVENTS_ENDTX
  REG(UARTE0 + 0x008) = 1;               // TASKS_STARTTX
  while (REG(UARTE0 + 0x120) == 0) __asm volatile("wfe");
  REG(0xE000E280) = 1u << 8;  // NVIC_ICPR: so that the next ENDTX is an event, too
}

__attribute__((noreturn)) void Reset(void) {
  REG(UARTE0 + 0x50C) = 29;          // PSEL.TXD: P0.29, as the nRF9160 DK is wired
  REG(UARTE0 + 0x514) = 28;          // PSEL.RXD: P0.28
  REG(UARTE0 + 0x524) = 0x01D60000;  // BAUDRATE: 115200
  REG(UARTE0 + 0x500) = 8;           // ENABLE
  REG(UARTE0 + 0x304) = 1u << 8;     // INTENSET: ENDTX
  REG(0xE000ED10) = 1u << 4;         // SCR.SEVONPEND
#ifdef MODEL
  (void)model[0];
#endif
  uint32_t left = console.size;
  for (const volatile uint8_t *from = console.text; left != 0;) {
    uint32_t size = left < PART ? left : PART;
    for (uint32_t i = 0; i < size; i++) part[i] = from[i];
    Send(size);
    from += size;
    left -= size;
  }
  for (;;) __asm volatile("wfi");
}

static void Fault(void) {
  for (;;) {
  }
}

extern uint32_t stack_top;
__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    &stack_top,    (void *)Reset, (void *)Fault, (void *)Fault,
    (void *)Fault, (void *)Fault, (void *)Fault,
};
