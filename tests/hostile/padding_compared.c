// A checksum over a structure with its padding bytes, which nobody sets.
#include "image.h"

typedef struct {
  uint8_t kind;
  uint32_t value;
} Setting;

void Behave(void) {
  Setting setting;
  uint32_t sum = 0;
  __asm volatile("" : "=m"(setting));
#if !HOSTILE
  for (uint32_t i = 0; i < sizeof setting; i++) ((volatile uint8_t *)&setting)[i] = 0;
#endif
  setting.kind = 3;
  setting.value = 4;
  __asm volatile("" : "+m"(setting));
  for (uint32_t i = 0; i < sizeof setting; i++) sum = sum * 31 + ((volatile uint8_t *)&setting)[i];
  PrintWord("sum", sum);
}
