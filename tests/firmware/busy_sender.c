// Sends while it works: polled lines, a buffer that changes while it leaves, and an interrupt at
// the end of a transfer.
#include "machine.h"

static char buffer[20];
static volatile uint32_t ended;

static void Start(const char *text, uint32_t size) {
  for (uint32_t i = 0; i < size; i++) buffer[i] = text[i];
  REG(UARTE0 + 0x544) = (uint32_t)buffer;
  REG(UARTE0 + 0x548) = size;
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x008) = 1;
}

void Uarte0(void) {
  REG(UARTE0 + 0x120) = 0;
  ended++;
}

static void Work(uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; i++) results[i & 31] += i * 2654435761u;
}

void Main(void) {
  UartStart();
  Print("polled 0\n");
  Print("polled 1\n");
  Start("aaaaaaaaaaaaaaaa\n", 17);
  Work(6000);
  for (int i = 8; i < 16; i++) buffer[i] = 'b';
  while (!REG(UARTE0 + 0x120)) {
  }
  NVIC_ISER(8) = 1u << 8;
  REG(UARTE0 + 0x304) = 1u << 8;  // ENDTX
  REG(UARTE0 + 0x120) = 0;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t before = ended;
    Start("line\n", 5);
    while (ended == before) Work(10);
  }
  Start("asleep\n", 7);
  while (ended < 4) __asm volatile("wfi");
}
