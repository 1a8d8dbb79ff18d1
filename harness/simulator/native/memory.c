// The address space: the areas that contain an address.
#include "memory.h"

#include <stddef.h>

static int find(const Area *areas, int count, uint32_t address, uint32_t size) {
  for (int i = 0; i < count; i++) {
    uint32_t offset = address - areas[i].base;
    if (offset < areas[i].size && areas[i].size - offset >= size) return i;
  }
  return -1;
}

Area *memory_code(Memory *m, uint32_t address) {
  int i = find(m->code, m->code_count, address, 1);
  return i < 0 ? NULL : &m->code[i];
}

Area *memory_window(Memory *m, uint32_t address) {
  int i = find(m->windows, m->window_count, address, 1);
  return i < 0 ? NULL : &m->windows[i];
}

const Area *memory_holding(const Memory *m, uint32_t address, uint32_t size) {
  int i = find(m->code, m->code_count, address, size);
  if (i >= 0) return &m->code[i];
  i = find(m->information, m->information_count, address, size);
  return i < 0 ? NULL : &m->information[i];
}

uint16_t memory_halfword(const Area *area, uint32_t address) {
  uint32_t offset = address - area->base;
  if (offset >= area->size || area->size - offset < 2) return 0;
  return (uint16_t)(area->host[offset] | area->host[offset + 1] << 8);
}
