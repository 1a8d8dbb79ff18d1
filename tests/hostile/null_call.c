// a call of a null pointer.
#include "image.h"

static void Nothing(void) {}

void Behave(void) {
  void (*volatile callback)(void) = HOSTILE ? 0 : Nothing;
  callback();
}
