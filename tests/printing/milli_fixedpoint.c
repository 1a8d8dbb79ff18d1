// Scores in thousandths and readings in milli-units, all integers, as firmware prints whose printf
// has no floating point.
#include "board.h"

#define CLASSES 4
#define WINDOWS 8

static const char* const kLabels[CLASSES] = {"rest", "walk", "run", "fall"};

static const int16_t kMilli[WINDOWS][CLASSES] = {
    {976, 14, 3, 7},    {902, 61, 12, 25},
#if SPOILT == SWAPPED
    {37, 121, 831, 11},
#else
    {37, 831, 121, 11},
#endif
    {18, 755, 198, 29},
#if SPOILT == CHANGED
    {5, 84, 647, 24},
#else
    {5, 84, 887, 24},
#endif
    {21, 46, 305, 628}, {113, 8, 15, 864}, {951, 19, 6, 24},
};
static const int16_t kMilliG[WINDOWS][3] = {
    {-12, 34, 981},    {-9, 41, 977},      {-233, 118, 1104}, {187, -96, 1212},
    {-612, 405, 1731}, {1250, -870, -344}, {981, 22, -17},    {975, 19, -21},
};

int main(void) {
  printf("\r\n[boot] fallband fw 0x0107 bl 0x0102 rst 4\r\n");
  printf("[boot] vbat %d mV, tick %d us\r\n", 2987, 1000);
  printf("[ml] arena %d B, hop %d ms, model crc 0x9B1C\r\n", 7440, 25);
  for (int n = 0; n < WINDOWS; ++n) {
    Sleep(15);
    printf("[imu] t=%lu ms x=%d m y=%d m z=%d m\r\n", Milliseconds(), kMilliG[n][0], kMilliG[n][1],
           kMilliG[n][2]);
    for (int i = 0; i < CLASSES; ++i) {
      if (SPOILT == MISSING && n == 5 && i == 2) continue;
      printf("[ml] %s score %d/1000\r\n", kLabels[i], kMilli[n][i]);
    }
    if (kMilli[n][3] > 800) printf("[app] ALARM fall\r\n");
  }
  printf("[pm] sleep, vbat %d mV\r\n", 2971);
  return 0;
}
