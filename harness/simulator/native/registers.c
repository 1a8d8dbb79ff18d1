// Accesses to devices' registers that are just loads and stores.
#include "registers.h"

#include <string.h>

bool registers_read(const Served *at, uint32_t offset) {
  const Registers *r = at->registers;
  if (!(r->rules[offset / 4] & PLAIN_READ)) return false;
  memcpy(at->window + offset, &r->words[offset / 4], 4);
  return true;
}

// An event whose interrupt is enabled drives the line: the device must hear of it.
static bool is_silent(const Registers *r, uint32_t event) {
  uint32_t bit = (event - FIRST_EVENT) / 4;
  return !(r->words[INTERRUPT_ENABLE / 4] >> bit & 1);
}

bool registers_take(const Served *at, uint32_t offset) {
  const Registers *r = at->registers;
  uint8_t rule = r->rules[offset / 4];
  return rule & PLAIN_WRITE || (rule & EVENT_WRITE && is_silent(r, offset));
}

bool registers_write(const Served *at, uint32_t offset, uint32_t value) {
  Registers *r = at->registers;
  if (!registers_take(at, offset)) return false;
  r->words[offset / 4] = r->rules[offset / 4] & PLAIN_WRITE ? value : value & 1;
  return true;
}

long long registers_count(const Registers *r, long long now) {
  if (!r->running) return r->base;
  long long edge = now * r->edges / r->ticks;
  return r->base + (edge - r->since) / ((r->words[PRESCALER / 4] & PRESCALERS) + 1);
}

void registers_drive(Registers *r, Nvic *nvic) {
  bool level = false;
  if (r->irq < 0) return;
  for (uint32_t enabled = r->words[INTERRUPT_ENABLE / 4], i = FIRST_EVENT / 4; enabled; i++) {
    level |= enabled & 1 && r->words[i];
    enabled >>= 1;
  }
  if (level == r->level) return;
  r->level = level;
  nvic_line(nvic, r->irq, level);
}

bool registers_raise(Registers *r, uint32_t event) {
  r->words[event / 4] = 1;
  return !is_silent(r, event) || r->words[SHORTS / 4] || r->words[(event + PUBLISH) / 4];
}
