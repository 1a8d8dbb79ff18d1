// An end in a branch to itself.
#include "image.h"

void Behave(void) {
  Print("done\n");
  for (;;) {
  }
}
