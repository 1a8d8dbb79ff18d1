// Events of an nRF machine learning application: only the best label with value, anomaly, LED
// events. Printed by the application event manager's log on Nordic kits. Never ends.
#include "board.h"

#define LABELS 4
#define WINDOWS 7

static const char *const labels[LABELS] = {"still", "walk", "run", "jump"};

static const struct {
  float value[LABELS], anomaly;
  unsigned dsp, classification;
} windows[WINDOWS] = {
    {{0.97f, 0.02f, 0.007f, 0.003f}, -0.42f, 14, 3}, {{0.93f, 0.05f, 0.01f, 0.01f}, -0.38f, 14, 3},
#if SPOILT == SWAPPED
    {{0.08f, 0.06f, 0.84f, 0.02f}, -0.11f, 15, 3},
#else
    {{0.08f, 0.84f, 0.06f, 0.02f}, -0.11f, 15, 3},
#endif
    {{0.03f, 0.91f, 0.05f, 0.01f}, -0.17f, 14, 3},
#if SPOILT == CHANGED
    {{0.01f, 0.14f, 0.57f, 0.06f}, 0.08f, 14, 4},
#else
    {{0.01f, 0.14f, 0.79f, 0.06f}, 0.08f, 14, 4},
#endif
    {{0.02f, 0.03f, 0.23f, 0.72f}, 0.36f, 15, 3},    {{0.88f, 0.09f, 0.02f, 0.01f}, -0.29f, 14, 3},
};

static void Prefix(const char *level, const char *module) {
  uint32_t ms = Milliseconds();
  printf("[00:%02lu:%02lu.%03lu,%03lu] <%s> %s: ", (unsigned long)(ms / 60000 % 60),
         (unsigned long)(ms / 1000 % 60), (unsigned long)(ms % 1000),
         (unsigned long)(ms * 61 % 1000), level, module);
}

static void Event(const char *text) {
  Prefix("inf", "app_event_manager");
  printf("e: %s\n", text);
}

int main(void) {
  printf("*** Booting nRF Connect SDK v2.7.0-5cb85570ca43 ***\n");
  printf("*** Using Zephyr OS v3.6.99-100befc70c74 ***\n");
  Event("module_state_event module:main state:READY");
  Event("module_state_event module:sensor_manager state:READY");
  Event("module_state_event module:led_state state:READY");
  Prefix("inf", "ei_wrapper");
  printf("model 'activity' v12: 62.5 Hz, window 750 samples, %d labels, anomaly yes\n", LABELS);
  Event("ml_app_mode_event MODEL RUNNING");
  int shown = -1;
  for (unsigned round = 0;; ++round) {
    for (int n = 0; n < WINDOWS; ++n) {
      Sleep(200);
      int best = 0;
      for (int i = 1; i < LABELS; ++i) {
        if (windows[n].value[i] > windows[n].value[best]) best = i;
      }
#if SPOILT == MISSING
      if (n != 3)
#endif
      {
        Prefix("inf", "app_event_manager");
        printf(
            "e: ml_result_event label:%s value:%.2f anomaly:%.2f dsp_time:%u "
            "classification_time:%u\n",
            labels[best], (double)windows[n].value[best], (double)windows[n].anomaly,
            windows[n].dsp, windows[n].classification);
      }
      if (best != shown) {
        Prefix("inf", "app_event_manager");
        printf("e: led_event led_id:0 effect:0x%05x\n", 0x2a1f0u + 0x1cu * (unsigned)best);
        shown = best;
      }
    }
    if (round % 2) {
      Prefix("wrn", "ml_state");
      printf("No peer subscribed, result not sent\n");
    } else {
      Event("battery_level_event level=84");
    }
  }
}
