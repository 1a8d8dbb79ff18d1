// What RTC and TIMER do with tasks, shortcuts and captures, as words that time does not change.
//
// What each prints stands in tests/support/clock_answers.py, for every target.
#include "machine.h"

#define TIMER 0x5000F000u
#define COUNTER REG(RTC0 + 0x504)
#define CC(n) REG(TIMER + 0x540 + 4 * (n))
#define COMPARE(n) REG(TIMER + 0x140 + 4 * (n))
#define CAPTURE(n) REG(TIMER + 0x040 + 4 * (n)) = 1

static uint32_t at, overflows;

void Rtc0(void) {
  overflows += REG(RTC0 + 0x104);
  REG(RTC0 + 0x104) = 0;
  REG(RTC0 + 0x140) = 0;
}

static void Note(uint32_t value) { results[at++] = value; }

static void Number(uint32_t value) {
  char text[12];
  uint32_t first = sizeof text - 1;
  text[first] = 0;
  text[--first] = '\n';
  do {
    text[--first] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  Print(text + first);
}

// Waits on the RTC, which is started: the TIMER is not to be its own witness.
static void WaitForEdges(uint32_t count) {
  uint32_t start = COUNTER;
  while (((COUNTER - start) & 0xFFFFFF) < count) {
  }
}

// 1 MHz: between two edges lie 30.5 counts.
static uint32_t Captured(void) {
  CAPTURE(5);
  return CC(5);
}

static void ReadInALoop(void) {
  uint32_t was = COUNTER, ones = 0;
  for (uint32_t changes = 0; changes < 8;) {
    uint32_t now = COUNTER;
    changes += now != was;
    ones += now == was + 1;
    was = now;
  }
  Note(ones);
}

static void Overflow(void) {
  REG(RTC0 + 0x304) = 2;  // OVRFLW
  REG(RTC0 + 0x00C) = 1;  // TRIGOVRFLW
  Note(COUNTER >> 8);
  while (!overflows) __asm volatile("wfi");
  Note(COUNTER < 4);
  REG(RTC0 + 0x308) = 2;
}

static void Unwanted(void) {
  REG(RTC0 + 0x544) = (COUNTER + 4) & 0xFFFFFF;
  WaitForEdges(8);
  Note(REG(RTC0 + 0x144));  // neither EVTEN nor INTEN
  REG(RTC0 + 0x344) = 1u << 17;
  REG(RTC0 + 0x544) = (COUNTER + 4) & 0xFFFFFF;
  WaitForEdges(8);
  Note(REG(RTC0 + 0x144));
}

static void Shortcuts(void) {
  REG(TIMER + 0x508) = 3;  // 32 bits
  REG(TIMER + 0x510) = 4;  // 1 MHz
  CC(0) = 50;
  REG(TIMER + 0x200) = 1u << 8;  // COMPARE[0] stops
  REG(TIMER + 0x000) = 1;
  WaitForEdges(4);
  Note(Captured());
  Note(COMPARE(0));
  COMPARE(0) = 0;
  REG(TIMER + 0x200) = 1u << 8 | 1;  // it clears, too
  REG(TIMER + 0x00C) = 1;
  REG(TIMER + 0x000) = 1;
  WaitForEdges(4);
  Note(Captured());
  REG(TIMER + 0x200) = 1;  // it clears, and goes on
  REG(TIMER + 0x000) = 1;
  WaitForEdges(40);
  Note(Captured() < 50);
  REG(TIMER + 0x200) = 0;
}

static void Shutdown(void) {
  REG(TIMER + 0x010) = 1;
  Note(Captured());
  WaitForEdges(4);
  Note(Captured());
  Note(CC(0));
}

static void Widths(void) {
  REG(TIMER + 0x508) = 1;  // 8 bits
  REG(TIMER + 0x000) = 1;
  WaitForEdges(40);
  Note(Captured() >> 8);
  REG(TIMER + 0x010) = 1;
  REG(TIMER + 0x504) = 2;  // counts its tasks
  REG(TIMER + 0x000) = 1;
  for (uint32_t i = 0; i < 3; i++) REG(TIMER + 0x008) = 1;
  Note(Captured());
}

static void LongSleep(void) {
  uint32_t start = overflows;
  REG(RTC0 + 0x008) = 1;
  REG(RTC0 + 0x304) = 1u << 16 | 2;
  for (uint32_t i = 1; i < 7; i++) {  // 6 * 217 s
    uint32_t until = i * 217 * 32768 & 0xFFFFFF;
    REG(RTC0 + 0x540) = until;
    while (((COUNTER - until) & 0xFFFFFF) > 0x7FFFFF) __asm volatile("wfi");
  }
  Note(overflows - start);
  Note(((COUNTER - 1302 * 32768) & 0xFFFFFF) < 4);
}

void Main(void) {
  UartStart();
  LfclkStart();
  NVIC_ISER(20) = 1u << 20;
  REG(RTC0 + 0x000) = 1;
  ReadInALoop();
  Overflow();
  Unwanted();
  Shortcuts();
  Shutdown();
  Widths();
  LongSleep();
  for (uint32_t i = 0; i < at; i++) Number(results[i]);
  Print("end\n");
}
