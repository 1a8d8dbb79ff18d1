// Vibration monitor of a motor: status lines with RMS, peak, frequency, zone, scores with slashes,
// and lines when the state changes. Printed by industrial sensors. Never ends.
#include "board.h"

#define INTERVALS 8
#define CLASSES 4

static const struct {
  float rms, peak, hertz, celsius;
  float score[CLASSES];
} intervals[INTERVALS] = {
    {1.12f, 3.05f, 24.8f, 41.3f, {0.931f, 0.038f, 0.019f, 0.012f}},
    {1.18f, 3.31f, 24.8f, 41.4f, {0.904f, 0.061f, 0.021f, 0.014f}},
    {2.87f, 7.64f, 24.7f, 41.9f, {0.412f, 0.507f, 0.052f, 0.029f}},
#if SPOILT == SWAPPED
    {4.66f, 11.02f, 24.6f, 42.8f, {0.071f, 0.068f, 0.846f, 0.015f}},
#else
    {4.66f, 11.02f, 24.6f, 42.8f, {0.071f, 0.846f, 0.068f, 0.015f}},
#endif
    {3.95f, 10.40f, 49.3f, 43.6f, {0.093f, 0.214f, 0.659f, 0.034f}},
    {5.31f, 21.87f, 118.2f, 45.1f, {0.033f, 0.047f, 0.118f, 0.802f}},
#if SPOILT == CHANGED
    {5.48f, 24.06f, 118.4f, 46.0f, {0.018f, 0.026f, 0.083f, 0.573f}},
#else
    {5.48f, 24.06f, 118.4f, 46.0f, {0.018f, 0.026f, 0.083f, 0.873f}},
#endif
    {1.21f, 3.40f, 24.9f, 44.2f, {0.887f, 0.064f, 0.032f, 0.017f}},
};

static const char *const states[CLASSES] = {"NORMAL", "UNBALANCE", "MISALIGN", "BEARING"};

static char Zone(float rms) {
  if (rms < 1.4f) return 'A';
  if (rms < 2.8f) return 'B';
  return rms < 4.5f ? 'C' : 'D';
}

int main(void) {
  printf("VM-200 vibration monitor, SW 3.1.0 (r5521), S/N 00418277\n");
  printf("ADXL1002 self test PASS, 25.6 kS/s, FFT 4096, class I machine\n");
  printf("AI: classes 0=normal 1=unbalance 2=misalignment 3=bearing\n");
  unsigned number = 0;
  int state = 0;
  uint32_t clock = 8u * 3600u + 41u * 60u + 20u;
  for (;;) {
    for (int n = 0; n < INTERVALS; ++n) {
      Sleep(250);
      clock += 10;
      int best = 0;
      for (int i = 1; i < CLASSES; ++i) {
        if (intervals[n].score[i] > intervals[n].score[best]) best = i;
      }
      if (best != state) {
        printf("** M1 %s -> %s, relay %s\n", states[state], states[best], best > 1 ? "ON" : "off");
        state = best;
      }
      printf("#%05u %02lu:%02lu:%02lu M1 %.2fmm/s pk %.2f cf %.1f %.1fHz %.1fC zone %c | cls ",
             ++number, (unsigned long)(clock / 3600 % 24), (unsigned long)(clock / 60 % 60),
             (unsigned long)(clock % 60), (double)intervals[n].rms, (double)intervals[n].peak,
             (double)(intervals[n].peak / intervals[n].rms), (double)intervals[n].hertz,
             (double)intervals[n].celsius, Zone(intervals[n].rms));
      const char *slash = "";
      for (int i = 0; i < CLASSES; ++i) {
#if SPOILT == MISSING
        if (n == 1 && i == 2) continue;
#endif
        printf("%s%.3f", slash, (double)intervals[n].score[i]);
        slash = "/";
      }
      printf("\n");
      if (number % 5 == 0) printf("link: RS-485 ok, 0 crc errors, wdt fed %u\n", number * 4);
    }
  }
}
