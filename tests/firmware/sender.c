// A UARTE that sends in each of the ways that firmware does: polled, stopped by DPPI, by interrupt,
// with another task beside, from where no data RAM is, more than fits anywhere.
#include "machine.h"

#define DPPIC 0x50017000u
#define CHANNEL 3u
#define PUBLISHES 0x80000000u
#define MANY 1500

static const char kept[] = "in flash";
static volatile uint8_t out[16];

static void Send(uint32_t from, uint32_t size) {
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x158) = 0;
  REG(UARTE0 + 0x544) = from;
  REG(UARTE0 + 0x548) = size;
  uint32_t told = results[2];
  REG(UARTE0 + 0x008) = 1;
  while (REG(UARTE0 + 0x500) && !REG(UARTE0 + 0x120) && results[2] == told) {
  }
  results[1] += REG(UARTE0 + 0x54C) + 256 * REG(UARTE0 + 0x120) + 512 * REG(UARTE0 + 0x158);
}

static void SendText(const char *text, uint32_t size) {
  for (uint32_t i = 0; i < size; i++) out[i] = (uint8_t)text[i];
  Send((uint32_t)out, size);
}

// UARTE0's.
void Uarte0(void) {
  REG(UARTE0 + 0x120) = 0;
  REG(UARTE0 + 0x158) = 0;
  results[2]++;
}

void Egu0(void) {
  REG(EGU0 + 0x100) = 0;
  results[3]++;
}

void Main(void) {
  UartStart();
  NVIC_ISER(27) = 1u << 27 | 1u << 8;
  SendText("alone\r\n", 7);
  REG(UARTE0 + 0x1A0) = PUBLISHES | CHANNEL;  // ENDTX
  SendText("unheard\r\n", 9);
  REG(UARTE0 + 0x08C) = PUBLISHES | CHANNEL;  // STOPTX
  SendText("off\r\n", 5);
  REG(DPPIC + 0x504) = 1u << CHANNEL;
  for (uint32_t i = 0; i < 3; i++) SendText("stops\r\n", 7);
  REG(UARTE0 + 0x304) = 1u << 22;  // TXSTOPPED
  for (uint32_t i = 0; i < 3; i++) SendText("told\r\n", 6);
  REG(EGU0 + 0x304) = 1;
  REG(EGU0 + 0x080) = PUBLISHES | CHANNEL;
  SendText("both\r\n", 6);
  REG(EGU0 + 0x080) = 0;
  SendText("again\r\n", 7);
  REG(UARTE0 + 0x308) = 1u << 22;
  REG(DPPIC + 0x508) = 1u << CHANNEL;
  REG(UARTE0 + 0x304) = 1u << 8;  // ENDTX
  SendText("ends\r\n", 6);
  REG(UARTE0 + 0x308) = 1u << 8;
  Send((uint32_t)kept, sizeof kept - 1);
  Send((uint32_t)out, 0);
  REG(UARTE0 + 0x500) = 0;
  SendText("disabled\r\n", 10);
  REG(UARTE0 + 0x500) = 8;
  for (uint32_t i = 0; i < MANY; i++) Send((uint32_t)out, 10);
  Print("sent\r\n");
}
