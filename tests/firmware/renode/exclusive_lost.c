// An exception between LDREX and STREX takes the reservation.
#include "image.h"

static uint32_t word;

void Svc(void) {}

void Behave(void) {
  uint32_t kept, lost, value;
  __asm volatile("ldrex %1, [%2]\n strex %0, %1, [%2]"
                 : "=&r"(kept), "=&r"(value)
                 : "r"(&word)
                 : "memory");
  __asm volatile("ldrex %1, [%2]\n svc 0\n strex %0, %1, [%2]"
                 : "=&r"(lost), "=&r"(value)
                 : "r"(&word)
                 : "memory");
  PrintWord("kept", !kept);
  PrintWord("lost", lost);
}
