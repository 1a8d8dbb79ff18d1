// The three best labels of each frame with rank, label and percent in columns.
// Image classification demos (MobileNet and the like on a camera board) print so.
#include "board.h"

#define LABELS 8

static const char *const kLabels[LABELS] = {"coffee mug",         "espresso", "water bottle",
                                            "computer keyboard",  "mouse",    "remote control",
                                            "cellular telephone", "banana"};

static const float kFrames[][LABELS] = {
    {71.4f, 12.9f, 3.2f, 1.1f, 0.4f, 0.8f, 0.9f, 0.2f},
    {0.6f, 0.1f, 1.7f, 64.8f, 21.3f, 5.5f, 3.9f, 0.0f},
#if SPOILT == SWAPPED
    {0.9f, 0.2f, 0.7f, 2.6f, 4.4f, 31.2f, 48.5f, 1.3f},
#else
    {0.9f, 0.2f, 0.7f, 2.6f, 4.4f, 48.5f, 31.2f, 1.3f},
#endif
    {2.3f, 0.5f, 80.1f, 0.3f, 0.6f, 1.9f, 4.7f, 0.1f},
#if SPOILT == CHANGED
    {0.2f, 0.4f, 0.3f, 0.1f, 0.0f, 2.0f, 1.4f, 79.6f},
#else
    {0.2f, 0.4f, 0.3f, 0.1f, 0.0f, 2.0f, 1.4f, 92.7f},
#endif
    {40.6f, 35.9f, 9.8f, 0.5f, 1.2f, 0.7f, 0.3f, 0.8f},
};

static int NextBest(const float *percent, unsigned used) {
  int best = -1;
  for (int k = 0; k < LABELS; k++) {
    if (used & (1u << k)) continue;
    if (best < 0 || percent[k] > percent[best]) best = k;
  }
  return best;
}

int main(void) {
  static const int exposure[] = {412, 410, 655, 398, 401, 287};
  printf("== camera classifier 3.1 (release/3.1@77e02ab) ==\n");
  printf("OV7670 id 0x7673, 160x120 RGB565 -> 96x96x3\n");
  printf("classes: 1001, tensor arena: 182 of 192 kB\n\n");
  for (unsigned f = 0; f < sizeof kFrames / sizeof kFrames[0]; f++) {
    unsigned used = 0;
    uint32_t begin = Milliseconds();
    Sleep(21 + f % 2);
    printf("frame %u (exposure %d lines): %u ms\n", f * 5 + 1, exposure[f],
           (unsigned)(Milliseconds() - begin));
    for (int rank = 1; rank <= 3; rank++) {
      int k = NextBest(kFrames[f], used);
      used |= 1u << k;
      if (SPOILT == MISSING && f == 3 && rank == 2) continue;
      printf("  %d. %-20s %5.1f%%\n", rank, kLabels[k], kFrames[f][k]);
    }
  }
  printf("\nSD card: 6 frames in /cap0007\n");
  return 0;
}
