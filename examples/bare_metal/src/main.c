// Firmware as somebody has it who never heard of tflm-hil: it classifies windows of four samples
// and prints what came of each. No operating system, no C library; a secure nRF9160 boots it at
// address 0.
#include "weights.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UARTE0 0x50008000u

static const int8_t kWindows[][INPUTS] = {
    {0, 0, 0, 0},           {16, 32, 48, 64}, {-64, -48, -32, -16},
    {127, -128, 127, -128}, {16, 19, 1, -17},  // ties of the rounding
};

// The model as it was trained, so that a host can tell which one this image runs.
__asm__(
    ".section .rodata.model, \"a\"\n"
    ".balign 4\n"
    ".global model\n"
    "model: .incbin \"model.tflite\"\n"
    ".previous\n");
extern const uint8_t model[];

static void UartStart(void) {
  REGISTER(UARTE0 + 0x50C) = 29;          // PSEL.TXD: P0.29, as the nRF9160 DK is wired
  REGISTER(UARTE0 + 0x514) = 28;          // PSEL.RXD: P0.28
  REGISTER(UARTE0 + 0x524) = 0x01D60000;  // BAUDRATE: 115200
  REGISTER(UARTE0 + 0x500) = 8;           // ENABLE
}

static void Print(const char *text) {
  static char line[80];  // EasyDMA reads RAM only
  uint32_t size = 0;
  while (text[size] != 0 && size < sizeof line) {
    line[size] = text[size];
    size++;
  }
  REGISTER(UARTE0 + 0x544) = (uint32_t)line;  // TXD.PTR
  REGISTER(UARTE0 + 0x548) = size;            // TXD.MAXCNT
  REGISTER(UARTE0 + 0x120) = 0;               // EVENTS_ENDTX
  REGISTER(UARTE0 + 0x008) = 1;               // TASKS_STARTTX
  while (REGISTER(UARTE0 + 0x120) == 0) {
  }
}

static void PrintNumber(int32_t value) {
  char text[12];
  char *at = text + sizeof text - 1;
  uint32_t rest = value < 0 ? -(uint32_t)value : (uint32_t)value;
  *at = 0;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--at = '-';
  Print(at);
}

static void PrintRow(const char *name, const int8_t *values, int count) {
  Print(name);
  for (int i = 0; i < count; i++) {
    Print(" ");
    PrintNumber(values[i]);
  }
}

// Rounds twice, as tflite-micro's reference kernels do.
static int32_t Scale(int32_t sum) {
  int64_t product = (int64_t)sum * MULTIPLIER;
  int64_t nudge = product >= 0 ? (1 << 30) : 1 - (1 << 30);
  int32_t high = (int32_t)((product + nudge) / ((int64_t)1 << 31));
  int32_t mask = (1 << RIGHT_SHIFT) - 1;
  int32_t threshold = (mask >> 1) + (high < 0);
  return (high >> RIGHT_SHIFT) + ((high & mask) > threshold);
}

static void Invoke(const int8_t *window, int8_t *scores) {
  for (int i = 0; i < OUTPUTS; i++) {
    int32_t sum = kBias[i];
    for (int j = 0; j < INPUTS; j++) sum += window[j] * kWeights[i][j];
    int32_t score = Scale(sum) + OUTPUT_ZERO_POINT;
    scores[i] = (int8_t)(score < -128 ? -128 : score > 127 ? 127 : score);
  }
}

void Main(void) {
  UartStart();
  for (uint32_t i = 0; i < sizeof kWindows / sizeof *kWindows; i++) {
    int8_t scores[OUTPUTS];
    Invoke(kWindows[i], scores);
    PrintRow("window", kWindows[i], INPUTS);
    PrintRow(" scores", scores, OUTPUTS);
    Print("\r\n");
  }
  Print(model[4] == 'T' ? "all windows done\r\n" : "no model\r\n");
}

extern uint32_t _data_start, _data_end, _data_load, _bss_start, _bss_end;

void Reset(void) {
  const uint32_t *from = &_data_load;
  for (uint32_t *to = &_data_start; to < &_data_end;) *to++ = *from++;
  for (uint32_t *to = &_bss_start; to < &_bss_end;) *to++ = 0;
  Main();
  for (;;) __asm volatile("wfi");
}

static void Fault(void) {
  for (;;) {
  }
}

extern uint32_t _stack_top;
__attribute__((section(".vectors"), used)) const void *const kVectors[16] = {
    &_stack_top,   (void *)Reset, (void *)Fault, (void *)Fault,
    (void *)Fault, (void *)Fault, (void *)Fault,
};
