// Two networks in one image by turns: keyword scores, then the anomaly score of a vibration.
// Sensor nodes that multiplex interpreters over one arena print so, with a tag a model.
#include "board.h"

#define KEYWORDS 5

static const char *const keyword[KEYWORDS] = {"start", "stop", "faster", "slower", "_noise"};

static const float spotted[][KEYWORDS] = {
    {0.028f, 0.009f, 0.041f, 0.017f, 0.905f}, {0.871f, 0.036f, 0.058f, 0.012f, 0.023f},
#if SPOILT == SWAPPED
    {0.047f, 0.031f, 0.236f, 0.684f, 0.002f},
#else
    {0.047f, 0.031f, 0.684f, 0.236f, 0.002f},
#endif
    {0.015f, 0.020f, 0.329f, 0.598f, 0.038f}, {0.062f, 0.913f, 0.007f, 0.003f, 0.015f},
    {0.114f, 0.051f, 0.019f, 0.024f, 0.792f},
};

static const struct {
  float error, mean, kurtosis;
} vibration[] = {
    {0.214f, 0.981f, 2.91f}, {0.337f, 1.007f, 3.12f}, {0.452f, 1.012f, 3.38f},
#if SPOILT == CHANGED
    {0.698f, 1.020f, 5.74f},
#else
    {1.286f, 1.020f, 5.74f},
#endif
    {1.731f, 1.034f, 7.05f}, {0.198f, 0.979f, 2.88f},
};

int main(void) {
  const float threshold = 1.0f;
  printf("fan-node fw 5.0.2 (b1f2a7c9), boot #41\n");
  printf("[kws ] ds-cnn-s int8, 22604 B, 490 features\n");
  printf("[anom] autoencoder int8, 9880 B, threshold %.3f\n", threshold);
  printf("shared arena 16384 B at 0x2000a000, peak 15120\n");
  for (unsigned n = 0;; n++) {
    unsigned i = n % 6;
    int best = 0;
    Sleep(15);
    printf("[kws ] t=%ums", (unsigned)Milliseconds());
    for (int k = 0; k < KEYWORDS; k++) {
      printf(" %s:%.3f", keyword[k], spotted[i][k]);
      if (spotted[i][k] > spotted[i][best]) best = k;
    }
    printf(" -> %s\n", keyword[best]);
    Sleep(10);
    if (SPOILT == MISSING && i == 2) continue;
    printf("[anom] t=%ums mean=%.3fg kurt=%.2f score=%.3f %s\n", (unsigned)Milliseconds(),
           vibration[i].mean, vibration[i].kurtosis, vibration[i].error,
           vibration[i].error > threshold ? "ANOMALY" : "ok");
  }
}
