// Gesture recognizer that draws the gesture with characters and prints its name and all scores, as
// the magic wand demo does.
#include "board.h"

#define GESTURES 4
#define STROKES 8

static const char* const kNames[GESTURES] = {"WING", "RING", "SLOPE", "NEGATIVE"};

static const char* const kArt[GESTURES] = {
    "*       *       *\n"
    " *     * *     *\n"
    "  *   *   *   *\n"
    "   * *     * *\n"
    "    *       *\n",
    "      * * *\n"
    "   *         *\n"
    "  *           *\n"
    "  *           *\n"
    "   *         *\n"
    "      * * *\n",
    "        *\n"
    "       *\n"
    "      *\n"
    "     *\n"
    "    *\n"
    "   * * * * * *\n",
    "  . . . . . .\n",
};

static const float kScores[STROKES][GESTURES] = {
    {0.92f, 0.03f, 0.01f, 0.04f}, {0.04f, 0.88f, 0.02f, 0.06f},
#if SPOILT == SWAPPED
    {0.81f, 0.07f, 0.02f, 0.10f},
#else
    {0.02f, 0.07f, 0.81f, 0.10f},
#endif
    {0.12f, 0.16f, 0.09f, 0.63f}, {0.77f, 0.11f, 0.04f, 0.08f},
#if SPOILT == CHANGED
    {0.06f, 0.31f, 0.85f, 0.08f},
#else
    {0.06f, 0.01f, 0.85f, 0.08f},
#endif
    {0.01f, 0.94f, 0.02f, 0.03f}, {0.09f, 0.22f, 0.18f, 0.51f},
};
static const int kSamples[STROKES] = {128, 121, 128, 64, 117, 128, 126, 80};

int main(void) {
  printf("Magic starts!\n");
  printf("IMU: 25.0 Hz, +-4 g, buffer 600 values at 0x20009f40\n\n");
  for (int n = 0; n < STROKES; ++n) {
    Sleep(15);
    printf("Stroke %d (%d samples)\n", n + 1, kSamples[n]);
    int best = 0;
    for (int i = 1; i < GESTURES; ++i) {
      if (kScores[n][i] > kScores[n][best]) best = i;
    }
    printf("%s%s:\n", kArt[best], kNames[best]);
    for (int i = 0; i < GESTURES; ++i) {
      if (SPOILT == MISSING && n == 4 && i == 1) continue;
      printf("  %s %.2f", kNames[i], kScores[n][i]);
    }
    printf("\n\n");
  }
  return 0;
}
