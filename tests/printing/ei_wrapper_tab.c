// "Value: 0.97<TAB>Label: idle", best first, and the anomaly: Edge Impulse results by a wrapper.
// The Edge Impulse wrapper of the nRF Connect SDK and applications made from its sample print so.
#include "board.h"

enum { kCount = 5 };

static const char *const label_of[kCount] = {"sine", "triangle", "idle", "square", "noise"};

struct Result {
  float value[kCount];
  float anomaly;
};

static const struct Result table[] = {
#if SPOILT == SWAPPED
    {{0.90f, 0.05f, 0.03f, 0.02f, 0.00f}, -0.07f}, {{0.17f, 0.08f, 0.01f, 0.72f, 0.02f}, 0.11f},
#else
    {{0.90f, 0.05f, 0.03f, 0.02f, 0.00f}, -0.07f}, {{0.17f, 0.72f, 0.01f, 0.08f, 0.02f}, 0.11f},
#endif
    {{0.00f, 0.01f, 0.94f, 0.02f, 0.03f}, -0.31f}, {{0.02f, 0.13f, 0.03f, 0.78f, 0.04f}, 0.24f},
#if SPOILT == CHANGED
    {{0.07f, 0.09f, 0.38f, 0.05f, 0.64f}, 1.92f},
#else
    {{0.07f, 0.09f, 0.15f, 0.05f, 0.64f}, 1.92f},
#endif
};

static void PrintResult(const struct Result *result, int left_out) {
  int order[kCount];
  for (int i = 0; i < kCount; i++) {
    int at = i;
    for (; at > 0 && result->value[order[at - 1]] < result->value[i]; at--) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  printf("\nClassification results\n");
  printf("======================\n");
  for (int i = 0; i < kCount; i++) {
    if (i == left_out) continue;
    printf("Value: %.2f\tLabel: %s\n", result->value[order[i]], label_of[order[i]]);
  }
  printf("Anomaly: %.2f\n", result->anomaly);
}

int main(void) {
  printf("*** Booting nRF Connect SDK v2.5.2 ***\n");
  printf("Machine learning model sampling frequency: %d\n", 62);
  printf("Labels assigned by the model:\n");
  for (int i = 0; i < kCount; i++) printf("- %s\n", label_of[i]);
  printf("\nPrediction started...\n");
  for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
    Sleep(30);
    PrintResult(&table[i], SPOILT == MISSING && i == 2 ? 3 : -1);
  }
  printf("\nSampling stopped by button (%d windows, %d dropped)\n", 5, 0);
  return 0;
}
