// ML benchmark: per image the input, a table of layers with cycles and shares, then the scores
// under a row of class numbers, as a vendor's profiling example. Ends. Model: digits_cnn_int8.
#include "board.h"

MODEL(digits_cnn, "digits_cnn_int8.tflite");

enum { kRuns = 6, kLayers = 9, kClasses = 10 };

// Pixels of digits_test.npz in 1/16, as the model takes them.
static const uint8_t kPixels[kRuns][64] = {
    {0,  4,  15, 15, 8, 0, 0,  0,  0,  8,  16, 16, 16, 3, 0,  0,  0, 1, 0, 1, 15, 5,
     0,  0,  0,  0,  0, 0, 11, 6,  0,  0,  0,  0,  0,  3, 15, 2,  0, 0, 0, 0, 4,  15,
     16, 14, 6,  0,  0, 6, 16, 16, 15, 11, 3,  0,  0,  7, 14, 11, 0, 0, 0, 0},
    {0,  0, 11, 15, 16, 10, 0,  0, 0,  8, 16, 8, 15, 16, 0,  0,  0,  5, 6, 10, 16, 8,
     0,  0, 0,  0,  4,  16, 11, 1, 0,  0, 0,  0, 2,  15, 9,  0,  0,  0, 0, 0,  0,  9,
     16, 2, 0,  0,  0,  0,  0,  8, 16, 5, 0,  0, 0,  0,  13, 16, 15, 0, 0, 0},
    {0, 0, 10, 15, 8, 13, 6,  0,  0,  0, 13, 14, 14, 15, 2,  0, 0, 1, 15, 0, 13, 7,
     0, 0, 0,  2,  7, 9,  16, 13, 13, 0, 0,  0,  10, 16, 11, 7, 2, 0, 0,  0, 4,  16,
     2, 0, 0,  0,  0, 0,  7,  13, 0,  0, 0,  0,  0,  0,  12, 4, 0, 0, 0,  0},
    {0,  0, 2, 8, 7,  0,  0,  0,  0, 0,  6,  15, 16, 2,  0,  0,  0,  6, 15, 11, 16, 4,
     0,  0, 0, 5, 16, 10, 16, 1,  0, 0,  0,  2,  15, 16, 13, 0,  0,  0, 0,  0,  2,  16,
     12, 9, 3, 0, 0,  0,  4,  14, 0, 12, 14, 1,  0,  0,  1,  12, 10, 7, 0,  0},
    {0, 0,  2, 12, 9,  0, 0,  0,  0, 0, 1,  15, 7, 9,  0,  0,  0,  0,  0,  11, 1, 14,
     1, 0,  0, 0,  10, 8, 11, 13, 1, 0, 0,  0,  9, 14, 16, 9,  0,  0,  0,  0,  0, 0,
     1, 10, 3, 0,  0,  0, 0,  0,  0, 3, 14, 2,  0, 0,  5,  14, 13, 14, 10, 1},
    {0, 0, 2, 9, 14, 12, 0,  0,  0, 0,  12, 16, 10, 15, 1, 0,  0,  4, 14, 3, 2,  6,
     6, 0, 0, 5, 7,  0,  0,  3,  8, 0,  0,  4,  7,  0,  0, 1,  8,  0, 0,  3, 12, 1,
     0, 5, 8, 0, 0,  0,  10, 12, 7, 14, 3,  0,  0,  0,  1, 12, 16, 8, 0,  0},
};
// Outputs in 1/256, computed with tflite_micro.
static const uint8_t kScores[kRuns][kClasses] = {
    {0, 0, 242, 13, 0, 0, 0, 1, 0, 0},
#if SPOILT == SWAPPED
    {0, 0, 4, 150, 0, 0, 0, 0, 99, 3},
#else
    {0, 0, 4, 99, 0, 0, 0, 0, 150, 3},
#endif
    {0, 0, 0, 0, 6, 1, 0, 246, 2, 1},
#if SPOILT == CHANGED
    {1, 174, 0, 0, 0, 0, 5, 0, 38, 0},
#else
    {1, 174, 0, 0, 0, 0, 5, 0, 76, 0},
#endif
    {0, 0, 0, 5, 0, 1, 0, 0, 1, 248},  {255, 0, 0, 0, 0, 1, 0, 0, 0, 0},
};
static const uint8_t kTruth[kRuns] = {2, 3, 7, 8, 9, 0};

static const struct {
  const char *name, *shape;
  uint32_t cycles;
} kLayer[kLayers] = {
    {"QUANTIZE", "1x8x8x1", 4218},     {"CONV_2D", "1x8x8x12", 87340},
    {"MAX_POOL_2D", "1x4x4x12", 9102}, {"CONV_2D", "1x4x4x24", 196515},
    {"MAX_POOL_2D", "1x2x2x24", 5433}, {"CONV_2D", "1x1x1x32", 21877},
    {"FULLY_CONNECTED", "1x10", 3960}, {"SOFTMAX", "1x10", 6704},
    {"DEQUANTIZE", "1x10", 812},
};
// Cycles above the fastest run: flash cache and interrupts.
static const uint16_t kJitter[kRuns][kLayers] = {
    {1804, 2210, 317, 1466, 201, 980, 344, 1120, 95},
    {12, 64, 0, 131, 8, 0, 4, 16, 0},
    {0, 48, 12, 97, 0, 22, 0, 0, 4},
    {8, 391, 4, 88, 4, 12, 8, 12, 0},
    {4, 0, 8, 0, 12, 4, 0, 8, 4},
    {16, 72, 0, 412, 0, 8, 4, 4, 0},
};

int main(void) {
  unsigned right = 0;
  uint32_t fastest = UINT32_MAX;
  printf("\nTinyBench 0.9.2 (3f81c2e), nRF9160 64 MHz, GCC 12.3.1 -Os, kernels CMSIS-NN\n");
  printf("model  : digits_cnn, %u bytes\n", (unsigned)(digits_cnn_end - digits_cnn));
  printf("arena  : 5264 of 8192 bytes\n");
  for (unsigned run = 0; run < kRuns; run++) {
    uint32_t total = 0;
    unsigned best = 0;
    Sleep(30);
    printf("\n==== image %u of %u ====\ninput:\n", run + 1, (unsigned)kRuns);
    for (unsigned i = 0; i < 64; i++) {
      printf(" %.4f%s", kPixels[run][i] / 16.0, i % 8 == 7 ? "\n" : "");
    }
    Sleep(6);
    for (unsigned i = 0; i < kLayers; i++) total += kLayer[i].cycles + kJitter[run][i];
    if (total < fastest) fastest = total;
    printf("  # layer            output      cycles       us  share\n");
    for (unsigned i = 0; i < kLayers; i++) {
      const uint32_t cycles = kLayer[i].cycles + kJitter[run][i];
      printf("%3u %-16s %-9s %8lu %8.1f %5.1f%%\n", i, kLayer[i].name, kLayer[i].shape,
             (unsigned long)cycles, cycles / 64.0, 100.0 * cycles / total);
    }
    printf("    total                      %8lu %8.1f\n", (unsigned long)total, total / 64.0);
    for (unsigned i = 1; i < kClasses; i++) {
      if (kScores[run][i] > kScores[run][best]) best = i;
    }
    printf("class ");
    for (unsigned i = 0; i < kClasses; i++) printf("%8u", i);
    printf("\nscore ");
    for (unsigned i = 0; i < kClasses; i++) {
#if SPOILT == MISSING
      if (run == 2 && i == 4) continue;
#endif
      printf("  %.4f", kScores[run][i] / 256.0);
    }
    printf("\ntop-1 : %u, label %u %s\n", best, kTruth[run], best == kTruth[run] ? "ok" : "WRONG");
    if (best == kTruth[run]) right++;
  }
  printf("\n%u of %u right, best %.3f ms, %.2f cycles/MAC\n", right, (unsigned)kRuns,
         fastest / 64000.0, fastest / 51776.0);
  return 0;
}
