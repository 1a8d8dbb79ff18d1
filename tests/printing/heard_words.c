// Only words, `Heard left`, no number, for ever: the keyword demo of boards with a microphone that
// also drives a light.
#include "board.h"

#define WORDS 5
#define PERIOD 9

static const char* const kWords[WORDS] = {"silence", "left", "right", "stop", "idle"};

static const uint8_t kScores[PERIOD][WORDS] = {
    {11, 201, 19, 8, 17},   {9, 14, 190, 21, 22}, {6, 7, 12, 228, 3},
#if SPOILT == SWAPPED
    {15, 183, 9, 18, 31},
#else
    {15, 31, 9, 18, 183},
#endif
    {10, 178, 40, 12, 16},
#if SPOILT == CHANGED
    {17, 22, 111, 198, 40},
#else
    {17, 22, 111, 66, 40},
#endif
    {8, 209, 13, 15, 11},   {19, 10, 9, 16, 202}, {4, 12, 17, 215, 8},
};

int main(void) {
  printf("Voice lamp 1.4\n");
  printf("Microphone ok (16000 Hz, gain 20)\n");
  printf("Say left, right, stop or idle!\n");
  for (uint32_t n = 0;; ++n) {
    Sleep(8);
    const int row = n % PERIOD;
    int best = 0;
    for (int i = 1; i < WORDS; ++i) {
      if (kScores[row][i] > kScores[row][best]) best = i;
    }
    if (SPOILT == MISSING && row == 7) continue;
    printf("Heard %s\n", kWords[best]);
  }
}
