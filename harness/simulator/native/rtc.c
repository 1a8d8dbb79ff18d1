// Events of RTCs (nRF9160 PS, "RTC"). peripherals/rtc.py starts and stops the counter, raises
// events that are published, and decides about compare values that lie too close.
#include "rtc.h"

enum { EVTEN = 0x340, CC = 0x540, WRAP = 1 << 24, FIRST_COMPARE = 2 };
enum { WRITE_SET = 4, WRITE_CLEAR = 8 };  // offsets from EVTEN, INTEN
// The bit of each event in EVTEN and INTEN: TICK, OVRFLW, COMPARE[0] to COMPARE[3].
static const uint8_t BITS[RTC_EVENTS] = {0, 1, 16, 17, 18, 19};

static uint32_t wanted(const Registers *r) {
  return r->words[EVTEN / 4] | r->words[INTERRUPT_ENABLE / 4];
}

static long long distance(uint32_t value, long long total) {
  return ((long long)value - total) & (WRAP - 1);
}

// After how many counts from `total` on does an event come?
static long long ahead_of(const Registers *r, int event, long long total) {
  if (event < FIRST_COMPARE) return event ? WRAP - total % WRAP : 1;
  const int channel = event - FIRST_COMPARE;
  long long ahead = distance(r->words[CC / 4 + channel], total);
  if (!ahead) ahead = WRAP;
  return total + ahead == r->schedule.skipped[channel] ? ahead + WRAP : ahead;
}

// Edge n lies at the first tick that is not before n * ticks / edges.
static long long tick_of(const Registers *r, long long edge) {
  return (edge * r->ticks + r->edges - 1) / r->edges;
}

void rtc_arrange(Registers *r, uint32_t events, long long now) {
  const long long total = registers_count(r, now);
  const long long step = (r->words[PRESCALER / 4] & PRESCALERS) + 1;
  for (int i = 0; i < RTC_EVENTS; i++) {
    if (!(events >> BITS[i] & 1)) continue;
    r->schedule.due[i] = INT64_MAX;
    if (!r->running || !(wanted(r) >> BITS[i] & 1)) continue;
    long long counts = total - r->base + ahead_of(r, i, total);
    r->schedule.due[i] = tick_of(r, r->since + counts * step);
  }
}

bool rtc_schedules(uint32_t offset) {
  const uint32_t enable = offset & ~0xFu;
  if (offset >= CC) return (offset - CC) / 4 < RTC_CHANNELS;
  return (enable == EVTEN || enable == INTERRUPT_ENABLE) && (offset & 0xF) <= WRITE_CLEAR;
}

static uint32_t set_enable(Registers *r, uint32_t offset, uint32_t value) {
  const uint32_t before = wanted(r);
  uint32_t *all = &r->words[(offset & ~0xFu) / 4];  // EVTEN or INTEN; SET and CLR read as it does
  const uint32_t way = offset & 0xF;
  if (way == WRITE_SET) value |= *all;
  if (way == WRITE_CLEAR) value = *all & ~value;
  all[0] = all[1] = all[2] = value;
  return before ^ wanted(r);
}

void rtc_set(Registers *r, uint32_t offset, uint32_t value, long long now) {
  if (offset < CC) {
    rtc_arrange(r, set_enable(r, offset, value), now);
    return;
  }
  r->words[offset / 4] = value & (WRAP - 1);
  rtc_arrange(r, 1u << BITS[FIRST_COMPARE + (offset - CC) / 4], now);
}

static int first_of(const Registers *r) {
  int first = 0;
  for (int i = 1; i < RTC_EVENTS; i++) {
    if (r->schedule.due[i] < r->schedule.due[first]) first = i;
  }
  return first;
}

long long rtc_due(const Registers *r) { return r->schedule.due[first_of(r)]; }

uint32_t rtc_take(Registers *r, long long now) {
  const int first = first_of(r);
  if (r->schedule.due[first] > now) return 0;
  rtc_arrange(r, 1u << BITS[first], now);
  return FIRST_EVENT + 4u * BITS[first];
}

// Must the device decide whether a compare value is met?
static bool is_close(const Registers *r, uint32_t offset, uint32_t value, long long now) {
  if (offset < CC) return false;
  if (r->schedule.skipped[(offset - CC) / 4] >= 0) return true;
  return r->running && distance(value, registers_count(r, now)) < r->soonest;
}

bool rtc_write(Core *c, Registers *r, uint32_t offset, uint32_t value) {
  const long long now = core_now(c);
  if (is_close(r, offset, value, now)) return false;
  rtc_set(r, offset, value, now);
  registers_drive(r, c->cpu.nvic);
  core_stop_by(c, rtc_due(r));
  return true;
}

static bool publishes(const Registers *r, int event) {
  return r->words[(FIRST_EVENT + PUBLISH) / 4 + BITS[event]];
}

bool rtc_advance(Core *c) {
  const long long now = core_now(c);
  bool raised = false;
  for (int i = 0; i < c->devices.rtc_count; i++) {
    Registers *r = c->devices.rtcs[i];
    while (rtc_due(r) <= now && !publishes(r, first_of(r))) {
      r->words[rtc_take(r, now) / 4] = 1;
      registers_drive(r, c->cpu.nvic);
      raised = true;
    }
  }
  return raised;
}

long long rtc_next(const Core *c) {
  long long first = INT64_MAX;
  for (int i = 0; i < c->devices.rtc_count; i++) {
    long long due = rtc_due(c->devices.rtcs[i]);
    if (due < first) first = due;
  }
  return first;
}
