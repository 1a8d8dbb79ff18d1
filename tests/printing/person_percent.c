// Person and no-person score in per cent in one line, for ever, as the person detection sketch for
// Arduino boards with a camera prints.
#include "board.h"

#define PERIOD 7

// Person, no person: int8 with a scale of 1/256 and zero point -128.
static const int8_t kScores[PERIOD][2] = {
    {96, -96},   {71, -71},
#if SPOILT == SWAPPED
    {35, -35},
#else
    {-35, 35},
#endif
    {-112, 112},
#if SPOILT == CHANGED
    {-46, 102},
#else
    {-102, 102},
#endif
    {9, -9},     {119, -119},
};

static float Percent(int8_t score) { return 100 * (score + 128) / 256.0f; }

int main(void) {
  printf("Attempting to start camera\r\n");
  Sleep(10);
  printf("Camera started, 96x96 grayscale\r\n");
  printf("Arena used: 81372 of 139264 bytes\r\n");
  for (uint32_t n = 0;; ++n) {
    const int row = n % PERIOD;
    printf("Person score: %.2f%%", Percent(kScores[row][0]));
    if (SPOILT != MISSING || row != 5) {
      printf(" No person score: %.2f%%", Percent(kScores[row][1]));
    }
    printf("\r\n");
    Sleep(12);
  }
}
