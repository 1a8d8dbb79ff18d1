// The registers of the System Control Space (Armv8-M ARM, D1.1) for exceptions and the MPU, while
// one security state is in use. bus.py and scb.py model all others.
#include "scs.h"

#include <string.h>

#include "security.h"

enum { BASE = 0xE000E000, SIZE = 0x1000, NVIC_FIRST = 0x100, NVIC_END = 0x600, SCB = 0xD00 };
enum { ICSR = 4 };

static bool read_word(Core *c, uint32_t offset, uint32_t *word) {
  if (offset >= NVIC_FIRST && offset < NVIC_END) {
    *word = nvic_read(c->cpu.nvic, offset, false);
  } else if (offset == SCB + ICSR) {
    *word = nvic_read_control(c->cpu.nvic, (int)(core_reg(c, REG_XPSR) & 0x1FF), false);
  } else if (offset >= SCB + MPU_FIRST && offset < SCB + MPU_END) {
    *word = mpu_read(c->mpu.banks[0], offset - SCB);
  } else {
    return false;
  }
  return true;
}

static bool write_word(Core *c, uint32_t offset, uint32_t value) {
  if (offset >= NVIC_FIRST && offset < NVIC_END) {
    nvic_write(c->cpu.nvic, offset, value, false);
  } else if (offset == SCB + ICSR) {
    nvic_write_control(c->cpu.nvic, value, false);
  } else if (offset >= SCB + MPU_FIRST && offset < SCB + MPU_END) {
    mpu_write(c->mpu.banks[0], offset - SCB, value);
  } else {
    return false;
  }
  return true;
}

bool scs_is_region(uint32_t address) {
  return address - (BASE + SCB + MPU_REGION_FIRST) < MPU_END - MPU_REGION_FIRST;
}

bool scs_access(Core *c, bool write, uint32_t address, uint32_t value) {
  uint32_t word, offset = address - BASE;
  if (offset >= SIZE || c->cpu.nonsecure || !security_is_privileged(c)) return false;
  if (write) return write_word(c, offset, value);
  const Area *window = memory_window(&c->memory, address);
  if (!window || !read_word(c, offset, &word)) return false;
  memcpy(window->host + (address - window->base), &word, sizeof word);
  return true;
}
