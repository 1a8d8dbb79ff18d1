// A sentence with the winner and its probability in whole percent; right answer and tally.
// Introductory MNIST ports to microcontrollers print so.
#include "board.h"

static const struct {
  uint8_t digit;
  uint8_t percent[10];
} images[] = {
    {7, {0, 1, 1, 0, 0, 0, 0, 98, 0, 0}},  {2, {1, 2, 94, 1, 0, 0, 0, 2, 0, 0}},
    {1, {0, 97, 0, 1, 0, 0, 0, 2, 0, 0}},
#if SPOILT == CHANGED
    {0, {73, 0, 1, 0, 0, 3, 4, 0, 1, 0}},
#else
    {0, {91, 0, 1, 0, 0, 3, 4, 0, 1, 0}},
#endif
    {4, {0, 0, 0, 0, 62, 0, 1, 3, 2, 32}}, {9, {0, 0, 0, 3, 55, 0, 0, 2, 1, 39}},
#if SPOILT == SWAPPED
    {5, {1, 0, 0, 81, 0, 9, 5, 0, 4, 0}},
#else
    {5, {1, 0, 0, 9, 0, 81, 5, 0, 4, 0}},
#endif
    {6, {2, 0, 0, 0, 3, 6, 88, 0, 1, 0}},  {3, {0, 0, 4, 84, 0, 7, 0, 1, 3, 1}},
};

int main(void) {
  const int total = sizeof images / sizeof images[0];
  int right = 0;
  printf("MNIST on Cortex-M33 @ 64 MHz, firmware v1.0\r\n");
  printf("Weights: 47 kB, activations: 6 kB\r\n\r\n");
  for (int i = 0; i < total; i++) {
    int best = 0;
    for (int k = 1; k < 10; k++) {
      if (images[i].percent[k] > images[i].percent[best]) best = k;
    }
    Sleep(12);
    right += best == images[i].digit;
    if (SPOILT == MISSING && i == 4) continue;
    printf("Image %d: predicted %d with probability %d %% (is a %d) %s\r\n", i, best,
           images[i].percent[best], images[i].digit, best == images[i].digit ? "OK" : "WRONG");
  }
  printf("\r\n%d of %d correct\r\n", right, total);
  return 0;
}
