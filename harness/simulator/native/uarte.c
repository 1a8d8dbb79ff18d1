// Sends the bytes of UARTEs (nRF9160 PS, "UARTE"). peripherals/uarte.py decides what a task does,
// and raises events that are published; STARTTX of a transfer that needs neither is begun here.
#include "uarte.h"

#include <string.h>

enum { TXDRDY = 0x11C, ENDTX = 0x120, TXSTARTED = 0x150, TXSTOPPED = 0x158 };
enum { TXD_PTR = 0x544, TXD_MAXCNT = 0x548, TXD_AMOUNT = 0x54C, CHANNELS_ENABLED = 0x500 };
#define PUBLISHES 0x80000000u

static uint32_t *word(Registers *r, uint32_t offset) { return &r->words[offset / 4]; }

static bool published(Registers *r, uint32_t event) {
  return *word(r, event + PUBLISH) & PUBLISHES;
}

// Whether ENDTX triggers STOPTX of this UARTE, and nothing else.
static bool stops_itself(const Core *c, Registers *r) {
  uint32_t channel = *word(r, ENDTX + PUBLISH) & 0xFF;
  return published(r, ENDTX) && channel < 32 && r->stops_itself & 1u << channel &&
         c->devices.channels && !published(r, TXSTOPPED);
}

static bool stops(const Core *c, Registers *r) {
  uint32_t channel = *word(r, ENDTX + PUBLISH) & 0xFF;
  return published(r, ENDTX) && *word(c->devices.channels, CHANNELS_ENABLED) >> channel & 1;
}

// Whether the events of a byte, of the end, can be raised without the device.
static bool sends_quietly(Registers *r) { return !published(r, TXDRDY); }

static bool ends_quietly(const Core *c, Registers *r) {
  if (published(r, ENDTX) && !stops_itself(c, r)) return false;
  return !(r->transfer->stopping && published(r, TXSTOPPED));
}

static uint8_t *bytes_at(Core *c, uint32_t address, uint32_t size) {
  Area *area = memory_code(&c->memory, address);
  if (!area || area->stable || area->size - (address - area->base) < size) return NULL;
  return area->host + (address - area->base);
}

static bool keep(Core *c, const uint8_t *bytes, uint32_t size, long long tick) {
  Outbox *out = &c->devices.outbox;
  if (out->count == OUTBOX_CHUNKS || sizeof out->bytes - out->used < size) return false;
  memcpy(out->bytes + out->used, bytes, size);
  out->chunks[out->count].tick = tick;
  out->chunks[out->count++].size = size;
  out->used += size;
  return true;
}

// Passes a complete line, or the rest at the end, to the console or else to the device.
static void hand_on(Core *c, Registers *r, long long tick) {
  Transfer *t = r->transfer;
  const uint8_t *bytes = t->bytes + t->taken;
  uint32_t size = t->sent - t->taken;
  bool line = size && bytes[size - 1] == '\n';
  if (!size || (t->active && !line)) return;
  if (!t->heard || !keep(c, bytes, size, tick)) {
    t->waits = true;
    return;
  }
  t->taken = t->sent;
  if (!c->machine.sent || (c->machine.sends_lines && !line)) return;
  core_note_python(c);
  c->machine.sent(c, bytes, size);
}

static void end(Core *c, Registers *r) {
  Transfer *t = r->transfer;
  *word(r, TXD_AMOUNT) = t->sent;
  t->waits |= !ends_quietly(c, r) || t->changed < t->size || t->sent < t->size;
  if (t->waits) return;
  *word(r, ENDTX) = 1;
  if (t->stopping || stops(c, r)) *word(r, TXSTOPPED) = 1;
}

// Reads the next byte by EasyDMA, after the previous one has been sent.
static void fetch(Core *c, Transfer *t) {
  const uint8_t *from = bytes_at(c, t->pointer + t->sent, 1);
  if (!from || *from == t->bytes[t->sent]) return;
  t->bytes[t->sent] = *from;
  if (t->changed == t->size) t->changed = t->sent;
}

static void send_byte(Core *c, Registers *r) {
  Transfer *t = r->transfer;
  const long long tick = t->next;
  t->sent++;
  t->next += t->ticks;
  t->active = t->sent < t->size && !t->stopping;
  if (t->active) fetch(c, t);
  *word(r, TXDRDY) = 1;
  t->waits |= !sends_quietly(r);
  hand_on(c, r, tick);
  if (!t->active) end(c, r);
  registers_drive(r, c->cpu.nvic);
}

void uarte_begin(Core *c, Registers *r) {
  Transfer *t = r->transfer;
  t->pointer = *word(r, TXD_PTR);
  t->size = t->changed = *word(r, TXD_MAXCNT) & MOST_BYTES;
  t->sent = t->taken = 0;
  t->stopping = t->waits = false;
  t->active = t->size > 0;
  t->next = core_now(c) + t->ticks;
  const uint8_t *bytes = bytes_at(c, t->pointer, t->size);
  if (bytes) memcpy(t->bytes, bytes, t->size);
  core_stop_by(c, uarte_due(c));
}

bool uarte_start(Core *c, Registers *r) {
  const Transfer *t = r->transfer;
  uint32_t size = *word(r, TXD_MAXCNT);
  if (!t->ticks || t->active || t->waits || !size || size > MOST_BYTES) return false;
  if (published(r, TXSTARTED) || !bytes_at(c, *word(r, TXD_PTR), size)) return false;
  *word(r, TXSTARTED) = 1;
  uarte_begin(c, r);
  registers_drive(r, c->cpu.nvic);
  return true;
}

bool uarte_advance(Core *c) {
  const long long now = core_now(c);
  bool sent = false;
  for (int i = 0; i < c->devices.senders; i++) {
    Registers *r = c->devices.sending[i];
    while (r->transfer->active && !r->transfer->waits && r->transfer->next <= now) {
      send_byte(c, r);
      sent = true;
    }
  }
  return sent;
}

long long uarte_due(const Core *c) {
  long long first = INT64_MAX;
  for (int i = 0; i < c->devices.senders; i++) {
    const Transfer *t = c->devices.sending[i]->transfer;
    if (t->waits) return core_now(c);
    if (t->active && t->next < first) first = t->next;
  }
  return first;
}

// Until that tick a transfer depends on memory alone.
static long long next_of(Registers *r) {
  const Transfer *t = r->transfer;
  if (t->waits) return 0;
  if (!t->active) return INT64_MAX;
  const bool noticed = *word(r, INTERRUPT_ENABLE) >> (TXDRDY - FIRST_EVENT) / 4 & 1;
  if (noticed || !*word(r, TXDRDY) || t->stopping || !sends_quietly(r)) return t->next;
  return t->next + t->ticks * (t->size - t->sent - 1);
}

long long uarte_next(const Core *c) {
  long long first = INT64_MAX;
  for (int i = 0; i < c->devices.senders; i++) {
    long long next = next_of(c->devices.sending[i]);
    if (next < first) first = next;
  }
  return first;
}
