// Messages in German and in English (UTF-8, with a decimal point in both) with class scores between
// them, as the firmware of a European maker prints for both of its markets.
#include "board.h"

#define CLASSES 4
#define FRAMES 6

static const char* const kGerman[CLASSES] = {"Steinpilz", "Pfifferling", "Fliegenpilz",
                                             "unbekannt"};
static const char* const kEnglish[CLASSES] = {"porcini", "chanterelle", "fly agaric", "unknown"};

static const float kScores[FRAMES][CLASSES] = {
    {0.874f, 0.082f, 0.013f, 0.031f}, {0.022f, 0.009f, 0.955f, 0.014f},
#if SPOILT == SWAPPED
    {0.104f, 0.071f, 0.698f, 0.127f},
#else
    {0.104f, 0.698f, 0.071f, 0.127f},
#endif
    {0.213f, 0.168f, 0.097f, 0.522f},
#if SPOILT == CHANGED
    {0.791f, 0.382f, 0.046f, 0.031f},
#else
    {0.791f, 0.132f, 0.046f, 0.031f},
#endif
    {0.057f, 0.886f, 0.019f, 0.038f},
};
static const float kExposure[FRAMES] = {12.5f, 12.5f, 16.0f, 33.3f, 16.0f, 12.5f};
static const float kBattery[FRAMES] = {3.62f, 3.61f, 3.58f, 3.47f, 3.46f, 3.46f};

static int Best(const float* scores) {
  int best = 0;
  for (int i = 1; i < CLASSES; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

int main(void) {
  printf("Pilzerkennung / mushroom finder  Version 2.3.1 (a41f9d2)\n");
  printf("Gerät bereit, Gehäuse 23.5 °C / device ready, case 23.5 °C\n");
  printf("Modell geladen: 48.2 kB, Arena 31.5 kB / model loaded: 48.2 kB, arena 31.5 kB\n");
  for (int n = 0; n < FRAMES; ++n) {
    Sleep(15);
    printf("\nBild %d aufgenommen, Belichtung %.1f ms\n", n + 1, kExposure[n]);
    printf("frame %d captured, exposure %.1f ms\n", n + 1, kExposure[n]);
    for (int i = 0; i < CLASSES; ++i) {
      if (SPOILT == MISSING && n == 3 && i == 2) continue;
      printf("  %s / %s: %.3f\n", kGerman[i], kEnglish[i], kScores[n][i]);
    }
    const int best = Best(kScores[n]);
    printf("Ergebnis: %s (%.1f %%)\n", kGerman[best], 100 * kScores[n][best]);
    printf("result: %s (%.1f %%)\n", kEnglish[best], 100 * kScores[n][best]);
    if (kBattery[n] < 3.5f && kBattery[n - 1] >= 3.5f) {
      printf("Warnung: Akku schwach, %.2f V\n", kBattery[n]);
      printf("warning: battery low, %.2f V\n", kBattery[n]);
    }
  }
  printf("\nMessung beendet, gehe schlafen. / finished, going to sleep.\n");
  return 0;
}
