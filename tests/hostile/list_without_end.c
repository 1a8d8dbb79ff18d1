// A list in a pool whose last link is never set to null: walking it leaves the pool.
#include "image.h"

typedef struct Link {
  struct Link *next;
  uint32_t value;
} Link;

__attribute__((section(".noinit"))) static Link links[3];

void Behave(void) {
  uint32_t sum = 0;
  for (int i = 0; i < 3; i++) links[i].value = 1;
  links[0].next = &links[1];
  links[1].next = &links[2];
#if !HOSTILE
  links[2].next = 0;
#endif
  for (volatile Link *link = links; link; link = link->next) sum += link->value;
  PrintWord("sum", sum);
}
