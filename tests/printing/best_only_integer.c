// Only the best class with its int8 score, `best: idle (20)`, as small demos print that have no
// floating point.
#include "board.h"

#define CLASSES 4
#define INFERENCES 12

static const char* const kLabels[CLASSES] = {"idle", "knock", "scratch", "drill"};

static const int8_t kScores[INFERENCES][CLASSES] = {
    {20, -64, -97, -115},   {41, -80, -101, -116},  {-71, 58, -120, -123},
    {-32, 3, -110, -117},   {96, -118, -115, -119},
#if SPOILT == SWAPPED
    {-119, 77, -90, -124},
#else
    {-119, -90, 77, -124},
#endif
    {-126, -70, 62, -122},  {-128, -113, -101, 86},
#if SPOILT == CHANGED
    {-127, -125, -119, 41},
#else
    {-127, -125, -119, 115},
#endif
    {-58, -99, -102, 3},    {12, -91, -75, -102},   {110, -122, -121, -123},
};

int main(void) {
  printf("tap-sense r17\r\n");
  printf("ram: 9216 arena, 1880 free\r\n");
  for (int n = 0; n < INFERENCES; ++n) {
    Sleep(10);
    int best = 0;
    for (int i = 1; i < CLASSES; ++i) {
      if (kScores[n][i] > kScores[n][best]) best = i;
    }
    if (SPOILT == MISSING && n == 6) continue;
    printf("best: %s (%d)\r\n", kLabels[best], kScores[n][best]);
  }
  return 0;
}
