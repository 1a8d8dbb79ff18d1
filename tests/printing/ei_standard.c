// The block that Edge Impulse's continuous or standalone example prints: timings, then labels.
// Firmware built from an Edge Impulse library (motion, with anomaly detection) prints so.
#include "board.h"

#define EI_CLASSES 4

typedef struct {
  uint16_t in256[EI_CLASSES];  // a softmax of 8 bits: steps of 1/256
  int16_t anomaly;             // thousandths
  uint8_t dsp, classification;
} ei_result;

static const char *const ei_labels[EI_CLASSES] = {"idle", "snake", "updown", "wave"};

static const ei_result results[] = {
    {{255, 1, 0, 0}, -412, 12, 4},   {{13, 227, 5, 11}, -187, 12, 4},
#if SPOILT == CHANGED
    {{2, 9, 142, 4}, 83, 12, 4},
#else
    {{2, 9, 241, 4}, 83, 12, 4},
#endif
    {{1, 52, 19, 184}, 1406, 13, 4}, {{239, 10, 1, 6}, -395, 12, 4},
#if SPOILT == SWAPPED
    {{8, 71, 3, 174}, 212, 12, 5},
#else
    {{8, 174, 3, 71}, 212, 12, 5},
#endif
    {{3, 17, 206, 30}, -54, 12, 4},
};

int main(void) {
  unsigned at = 0;
  printf("Edge Impulse inferencing on nRF9160\r\n");
  printf("Inferencing settings:\r\n");
  printf("\tInterval: %.6fms.\r\n", 16.0);
  printf("\tFrame size: %d\r\n", 375);
  printf("\tSample length: %.6f ms.\r\n", 2000.0);
  printf("\tNo. of classes: %d\r\n", EI_CLASSES);
  for (;;) {
    const ei_result *result = &results[at];
    printf("\r\nStarting inferencing in 2 seconds...\r\n");
    Sleep(10);
    printf("Sampling...\r\n");
    Sleep(10);
    printf("Predictions (DSP: %d ms., Classification: %d ms., Anomaly: %d ms.): \r\n", result->dsp,
           result->classification, 0);
    for (unsigned k = 0; k < EI_CLASSES; k++) {
      if (SPOILT == MISSING && at == 3 && k == 2) continue;
      printf("    %s: %.5f\r\n", ei_labels[k], result->in256[k] / 256.0);
    }
    printf("    anomaly score: %.3f\r\n", result->anomaly / 1000.0);
    at = (at + 1) % (sizeof results / sizeof results[0]);
  }
}
