// Sends the bytes of a UARTE (nRF9160 PS, "UARTE"), if only memory, its events and its interrupt
// are involved. peripherals/uarte.py models everything, this case included.
#include "uarte.h"

#include <string.h>

enum { TXDRDY = 0x11C, ENDTX = 0x120, TXSTARTED = 0x150, TXSTOPPED = 0x158 };
enum { ENABLE = 0x500, TXD_PTR = 0x544, TXD_MAXCNT = 0x548, TXD_AMOUNT = 0x54C };
enum { ENABLED_UARTE = 8, MOST = 0x1FFF, CHANNELS_ENABLED = 0x500 };
#define PUBLISHES 0x80000000u

static uint32_t *word(Registers *r, uint32_t offset) { return &r->words[offset / 4]; }

static uint32_t published(Registers *r, uint32_t event) { return *word(r, event + PUBLISH); }

// True if ENDTX triggers nothing, or only STOPTX of this UARTE.
static bool ends_quietly(const Core *c, Registers *r) {
  uint32_t channel = published(r, ENDTX);
  if (!(channel & PUBLISHES)) return true;
  channel &= 0xFF;
  return channel < 32 && r->stops_itself & 1u << channel && c->devices.channels &&
         !published(r, TXSTOPPED);
}

static bool stops(const Core *c, Registers *r) {
  uint32_t channel = published(r, ENDTX);
  return channel & PUBLISHES &&
         *word(c->devices.channels, CHANNELS_ENABLED) >> (channel & 0xFF) & 1;
}

static uint8_t *bytes_at(Core *c, uint32_t address, uint32_t size) {
  Area *area = memory_code(&c->memory, address);
  if (!area || area->stable || area->size - (address - area->base) < size) return NULL;
  return area->host + (address - area->base);
}

static bool keep(Core *c, const uint8_t *bytes, uint32_t size) {
  Outbox *out = &c->devices.outbox;
  if (out->count == OUTBOX_CHUNKS || sizeof out->bytes - out->used < size) return false;
  memcpy(out->bytes + out->used, bytes, size);
  out->chunks[out->count].tick = core_now(c);
  out->chunks[out->count++].size = size;
  out->used += size;
  return true;
}

bool uarte_start(Core *c, Registers *r) {
  uint32_t size = *word(r, TXD_MAXCNT) & MOST;
  if (*word(r, ENABLE) != ENABLED_UARTE || !size) return false;
  if (published(r, TXSTARTED) || published(r, TXDRDY) || !ends_quietly(c, r)) return false;
  const uint8_t *bytes = bytes_at(c, *word(r, TXD_PTR), size);
  if (!bytes || !keep(c, bytes, size)) return false;
  *word(r, TXD_AMOUNT) = size;
  *word(r, TXSTARTED) = *word(r, TXDRDY) = *word(r, ENDTX) = 1;
  if (stops(c, r)) *word(r, TXSTOPPED) = 1;
  registers_drive(r, c->cpu.nvic);
  if (c->machine.sent && (!c->machine.sends_lines || memchr(bytes, '\n', size))) {
    core_note_python(c);
    c->machine.sent(c, bytes, size);
  }
  return true;
}
