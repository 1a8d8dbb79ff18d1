// printk's boot banner, then Zephyr's log in colours (ANSI escape codes): label and score only.
// Zephyr applications with CONFIG_LOG_BACKEND_SHOW_COLOR and CONFIG_LOG_INFO_COLOR_GREEN print so.
#include "board.h"

#define OFF "\x1b[0m"
#define RED "\x1b[1;31m"
#define GREEN "\x1b[1;32m"
#define YELLOW "\x1b[1;33m"
#define CYAN "\x1b[1;36m"

enum { kIdle, kWave, kCircle, kTap, kGestures };
static const char *const names[kGestures] = {"idle", "wave", "circle", "tap"};

static const struct {
  float score[kGestures];
} windows[] = {
    {{0.97f, 0.01f, 0.02f, 0.00f}}, {{0.06f, 0.88f, 0.05f, 0.01f}}, {{0.09f, 0.16f, 0.72f, 0.03f}},
#if SPOILT == CHANGED
    {{0.02f, 0.04f, 0.00f, 0.74f}},
#else
    {{0.02f, 0.04f, 0.00f, 0.94f}},
#endif
    {{0.21f, 0.49f, 0.27f, 0.03f}},
#if SPOILT == SWAPPED
    {{0.83f, 0.02f, 0.11f, 0.04f}},
#else
    {{0.11f, 0.02f, 0.83f, 0.04f}},
#endif
    {{0.91f, 0.03f, 0.05f, 0.01f}}, {{0.03f, 0.79f, 0.12f, 0.06f}},
};

static void Clock(void) {
  uint32_t ms = Milliseconds() + 5;
  printf("[%02u:%02u:%02u.%03u,%03u] ", (unsigned)(ms / 3600000), (unsigned)(ms / 60000 % 60),
         (unsigned)(ms / 1000 % 60), (unsigned)(ms % 1000), (unsigned)(ms * 61 % 1000));
}

int main(void) {
  printf("*** Booting Zephyr OS build v3.7.0-1092-g6a4fd3b08e21 ***\r\n");
  printf("Gesture demo 1.2.0 on nrf9160dk/nrf9160/ns\r\n");
  Clock();
  printf(GREEN "<inf> lis2dh: fs=2, odr=0x5 lp_en=0x0 scale=9576" OFF "\r\n");
  Clock();
  printf(RED "<err> fs_nvs: No settings found (-2), defaults" OFF "\r\n");
  Clock();
  printf(GREEN "<inf> gesture: Model 18 kB, window 62 samples, arena 7468 B" OFF "\r\n");
  for (unsigned i = 0; i < sizeof windows / sizeof windows[0]; i++) {
    const float *score = windows[i].score;
    unsigned best = 0;
    Sleep(20);
    for (unsigned k = 1; k < kGestures; k++) {
      if (score[k] > score[best]) best = k;
    }
    if (SPOILT == MISSING && i == 2) continue;
    Clock();
    if (score[best] < 0.6f) {
      printf(YELLOW "<wrn> gesture: %s %.2f (unsure)" OFF "\r\n", names[best], score[best]);
    } else {
      printf(GREEN "<inf> gesture: " CYAN "%s" GREEN " %.2f" OFF "\r\n", names[best], score[best]);
    }
  }
  Clock();
  printf(GREEN "<inf> gesture: Suspend, next motion wakes" OFF "\r\n");
  return 0;
}
