// Anomaly detector: the autoencoder's reconstruction error of each window against a threshold and
// the verdict, as predictive-maintenance firmware prints.
#include "board.h"

#define WINDOWS 12
#define THRESHOLD 0.0450f

static const float kErrors[WINDOWS] = {
    0.0187f, 0.0213f, 0.0194f,
#if SPOILT == SWAPPED
    0.0762f, 0.0248f,
#else
    0.0248f, 0.0762f,
#endif
    0.1135f, 0.0917f,
#if SPOILT == CHANGED
    0.0683f,
#else
    0.0331f,
#endif
    0.0229f, 0.0176f, 0.0584f, 0.0202f,
};
static const float kRms[WINDOWS] = {0.214f, 0.221f, 0.217f, 0.236f, 0.402f, 0.518f,
                                    0.447f, 0.259f, 0.224f, 0.212f, 0.355f, 0.219f};

int main(void) {
  printf("\n\n==== PumpGuard AE  fw 3.2.0  hw C  sn 00412 ====\n");
  printf("autoencoder 64-16-4-16-64 int8, arena 6120 B\n");
  printf("threshold = %.4f (mean + 4 sigma of 512 windows)\n", THRESHOLD);
  int anomalies = 0;
  for (int n = 0; n < WINDOWS; ++n) {
    Sleep(8);
    const int anomaly = kErrors[n] > THRESHOLD;
    anomalies += anomaly;
    if (SPOILT == MISSING && n == 8) continue;
    printf("window %03d: rms %.3f g, reconstruction error %.4f %c %.4f -> %s\n", n + 1, kRms[n],
           kErrors[n], anomaly ? '>' : '<', THRESHOLD, anomaly ? "ANOMALY" : "NORMAL");
    if (anomaly) printf("  relay K1 set, event %d stored\n", anomalies);
  }
  printf("self test over: %d of %d windows anomalous\n", anomalies, WINDOWS);
  return 0;
}
