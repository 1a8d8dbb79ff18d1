// A line of dots that grows and is overwritten with carriage returns while audio is recorded, then
// the scores, as console tools for people print.
#include "board.h"

#define CLASSES 4
#define CLIPS 6
#define STEPS 4

static const char* const kLabels[CLASSES] = {"bark", "siren", "glass", "noise"};

static const float kScores[CLIPS][CLASSES] = {
    {0.81250f, 0.06641f, 0.02344f, 0.09766f}, {0.03125f, 0.90625f, 0.01172f, 0.05078f},
    {0.10156f, 0.08594f, 0.14453f, 0.66797f},
#if SPOILT == SWAPPED
    {0.05859f, 0.74609f, 0.04297f, 0.15234f},
#else
    {0.05859f, 0.04297f, 0.74609f, 0.15234f},
#endif
    {0.57422f, 0.21484f, 0.03516f, 0.17578f},
#if SPOILT == CHANGED
    {0.01953f, 0.02734f, 0.00391f, 0.69922f},
#else
    {0.01953f, 0.02734f, 0.00391f, 0.94922f},
#endif
};

int main(void) {
  printf("\x1b[2J\x1b[Hsound-tool 1.1.0\n");
  printf("Loading model ");
  for (int i = 0; i <= 100; i += 25) {
    printf("\rLoading model %3d%%", i);
    Sleep(5);
  }
  printf("\rLoading model done (37216 bytes)\n");
  for (int n = 0; n < CLIPS; ++n) {
    printf("Clip %d/%d\n", n + 1, CLIPS);
    for (int i = 1; i <= STEPS; ++i) {
      printf("\rRecording ");
      for (int j = 0; j < i; ++j) printf("...");
      Sleep(5);
    }
    printf("\rClassifying ...        ");
    Sleep(10);
    printf("\r                       \r");
    for (int i = 0; i < CLASSES; ++i) {
      if (SPOILT == MISSING && n == 4 && i == 1) continue;
      printf("    %-6s %.5f\n", kLabels[i], kScores[n][i]);
    }
  }
  printf("Bye.\n");
  return 0;
}
