// A run over a small test set on the device: predicted and expected label of each sample, then the
// accuracy, the counts of each class and the confusion matrix, as evaluation images print.
#include "board.h"

#define CLASSES 3
#define SAMPLES 10

static const char* const kLabels[CLASSES] = {"cat", "dog", "bird"};
static const uint8_t kExpected[SAMPLES] = {0, 1, 2, 0, 2, 1, 1, 0, 2, 1};

static const float kScores[SAMPLES][CLASSES] = {
    {0.914f, 0.071f, 0.015f}, {0.103f, 0.862f, 0.035f},
    {0.044f, 0.018f, 0.938f}, {0.688f, 0.257f, 0.055f},
#if SPOILT == SWAPPED
    {0.796f, 0.083f, 0.121f},
#else
    {0.121f, 0.083f, 0.796f},
#endif
    {0.541f, 0.427f, 0.032f}, {0.209f, 0.773f, 0.018f},
#if SPOILT == CHANGED
    {0.651f, 0.038f, 0.011f},
#else
    {0.951f, 0.038f, 0.011f},
#endif
    {0.016f, 0.099f, 0.885f}, {0.027f, 0.967f, 0.006f},
};

int main(void) {
  printf("pets_eval (commit 1d0be55), %d samples, %d classes\n", SAMPLES, CLASSES);
  printf("arena: 40960 bytes reserved, 36112 used\n");
  int matrix[CLASSES][CLASSES] = {{0}};
  int correct = 0;
  uint32_t busy = 0;
  for (int n = 0; n < SAMPLES; ++n) {
    const uint32_t start = Milliseconds();
    Sleep(10);
    busy += Milliseconds() - start;
    int best = 0;
    for (int i = 1; i < CLASSES; ++i) {
      if (kScores[n][i] > kScores[n][best]) best = i;
    }
    ++matrix[kExpected[n]][best];
    correct += best == kExpected[n];
    if (SPOILT == MISSING && n == 6) continue;
    printf("sample %d: predicted %s (%.3f), expected %s%s\n", n, kLabels[best], kScores[n][best],
           kLabels[kExpected[n]], best == kExpected[n] ? "" : "  <-- WRONG");
  }
  printf("----------------------------------------\n");
  printf("accuracy: %d/%d (%.1f %%)\n", correct, SAMPLES, 100.0f * correct / SAMPLES);
  printf("average time: %.1f ms\n", (float)busy / SAMPLES);
  for (int i = 0; i < CLASSES; ++i) {
    int all = 0;
    for (int j = 0; j < CLASSES; ++j) all += matrix[i][j];
    printf("  %-4s : %d of %d\n", kLabels[i], matrix[i][i], all);
  }
  printf("confusion matrix (rows expected, columns predicted)\n      ");
  for (int i = 0; i < CLASSES; ++i) printf("%6s", kLabels[i]);
  printf("\n");
  for (int i = 0; i < CLASSES; ++i) {
    printf("%6s", kLabels[i]);
    for (int j = 0; j < CLASSES; ++j) printf("%6d", matrix[i][j]);
    printf("\n");
  }
  printf("EVAL DONE\n");
  return 0;
}
