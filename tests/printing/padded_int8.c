// Pixels of a digit as a block of numbers, then ten int8 scores in a row padded with %4d.
// Test firmware for quantized image models (digits on a UART) prints so.
#include "board.h"

MODEL(digits_cnn_int8, "digits_cnn_int8.tflite");

struct Sample {
  uint8_t pixels[64];  // 0 to 16; the model's input is pixel / 16
  int8_t scores[10];   // by the reference kernels: round(probability * 256) - 128
};

static const struct Sample samples[] = {
    {{0,  0, 11, 15, 16, 10, 0,  0, 0,  8, 16, 8, 15, 16, 0,  0,  0,  5, 6, 10, 16, 8,
      0,  0, 0,  0,  4,  16, 11, 1, 0,  0, 0,  0, 2,  15, 9,  0,  0,  0, 0, 0,  0,  9,
      16, 2, 0,  0,  0,  0,  0,  8, 16, 5, 0,  0, 0,  0,  13, 16, 15, 0, 0, 0},
#if SPOILT == CHANGED
     {-128, -128, -124, -29, -128, -128, -128, -128, 71, -125}},
#else
     {-128, -128, -124, -29, -128, -128, -128, -128, 22, -125}},
#endif
    {{0,  0, 2, 8, 7,  0,  0,  0,  0, 0,  6,  15, 16, 2,  0,  0,  0,  6, 15, 11, 16, 4,
      0,  0, 0, 5, 16, 10, 16, 1,  0, 0,  0,  2,  15, 16, 13, 0,  0,  0, 0,  0,  2,  16,
      12, 9, 3, 0, 0,  0,  4,  14, 0, 12, 14, 1,  0,  0,  1,  12, 10, 7, 0,  0},
     {-127, 46, -128, -128, -128, -128, -123, -128, -52, -128}},
    {{0,  0, 0, 0, 11, 15, 4,  0,  0,  0, 0, 3, 16, 16, 12, 0,  0,  0,  0,  8, 14, 16,
      12, 0, 0, 0, 0,  5,  10, 16, 6,  0, 0, 1, 7,  11, 16, 13, 0,  0,  0,  9, 16, 16,
      14, 1, 0, 0, 0,  3,  8,  14, 16, 9, 0, 0, 0,  0,  0,  1,  11, 16, 12, 0},
#if SPOILT == SWAPPED
     {-127, 8, -60, -128, -122, -128, -128, -127, -83, -128}},
#else
     {-127, -83, -60, -128, -122, -128, -128, -127, 8, -128}},
#endif
    {{0, 0,  9, 13, 11, 1,  0,  0, 0,  0,  6, 4, 9,  14, 1, 0,  0,  0, 1, 5, 0,  11,
      4, 0,  0, 0,  13, 14, 0,  7, 5,  0,  0, 3, 14, 1,  0, 10, 4,  0, 0, 3, 14, 0,
      2, 15, 1, 0,  0,  2,  13, 8, 12, 11, 0, 0, 0,  0,  8, 14, 10, 1, 0, 0},
     {87, -128, -113, -119, -128, -128, -128, -125, -115, -128}},
    {{0, 0,  7, 16, 16, 14, 0,  0,  0,  0,  16, 12, 10, 15, 1,  0,  0,  0, 10, 4, 16, 10,
      0, 0,  0, 0,  0,  9,  16, 11, 1,  0,  0,  0,  0,  0,  7,  16, 8,  0, 0,  0, 0,  0,
      0, 16, 7, 0,  0,  0,  8,  4,  10, 15, 2,  0,  0,  0,  12, 16, 16, 6, 0,  0},
     {-128, -128, -128, 95, -128, -127, -128, -128, -128, -96}},
};

int main(void) {
  printf("digits test bench 2024.06, model %u bytes\n",
         (unsigned)(digits_cnn_int8_end - digits_cnn_int8));
  printf("class:    0    1    2    3    4    5    6    7    8    9\n");
  for (unsigned n = 0; n < sizeof samples / sizeof samples[0]; n++) {
    printf("\nsample %u\n", n);
    for (int i = 0; i < 64; i++) {
      printf("%3d%s", samples[n].pixels[i], i % 8 == 7 ? "\n" : "");
    }
    Sleep(15);
    printf("score:");
    for (int k = 0; k < 10; k++) {
      if (SPOILT == MISSING && n == 3 && k == 2) continue;
      printf(" %4d", samples[n].scores[k]);
    }
    printf("\n");
  }
  printf("\nstack high water 1184, bye\n");
  return 0;
}
