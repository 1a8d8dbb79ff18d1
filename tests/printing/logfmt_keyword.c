// logfmt: key=value pairs, one line an event, only the winner with its confidence, as gateways
// print that feed a log collector (Heroku's and Grafana Loki's format).
#include "board.h"

#define CLASSES 4
#define EVENTS 10

static const char* const kLabels[CLASSES] = {"idle", "walk", "run", "stairs"};

static const float kScores[EVENTS][CLASSES] = {
    {0.93f, 0.04f, 0.01f, 0.02f}, {0.88f, 0.07f, 0.02f, 0.03f},
    {0.11f, 0.79f, 0.03f, 0.07f}, {0.03f, 0.91f, 0.02f, 0.04f},
#if SPOILT == SWAPPED
    {0.02f, 0.67f, 0.22f, 0.09f},
#else
    {0.02f, 0.22f, 0.67f, 0.09f},
#endif
    {0.01f, 0.05f, 0.90f, 0.04f}, {0.02f, 0.29f, 0.12f, 0.57f},
#if SPOILT == CHANGED
    {0.03f, 0.08f, 0.04f, 0.65f},
#else
    {0.03f, 0.08f, 0.04f, 0.85f},
#endif
    {0.16f, 0.74f, 0.02f, 0.08f}, {0.94f, 0.03f, 0.01f, 0.02f},
};
static const float kLatency[EVENTS] = {11.4f, 11.2f, 11.2f, 11.3f, 11.2f,
                                       11.2f, 11.9f, 11.2f, 11.2f, 11.3f};

static int Best(const float* scores) {
  int best = 0;
  for (int i = 1; i < CLASSES; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

static void Prefix(const char* level) {
  const uint32_t now = Milliseconds();
  printf("ts=%lu.%03lu level=%s ", now / 1000, now % 1000, level);
}

int main(void) {
  Prefix("info");
  printf("msg=\"boot\" app=activityd version=0.14.0 commit=6be01f7 reset_reason=pin\n");
  Prefix("info");
  printf("msg=\"model ready\" name=har_cnn bytes=30512 arena_used=17984 arena_size=24576\n");
  Prefix("debug");
  printf("msg=\"imu configured\" odr_hz=52 range_g=4 window=104\n");
  for (int n = 0; n < EVENTS; ++n) {
    Sleep(10);
    if (n == 5) {
      Prefix("warn");
      printf("msg=\"fifo overrun\" dropped=3\n");
    }
    const int best = Best(kScores[n]);
    if (SPOILT == MISSING && n == 3) continue;
    Prefix("info");
    printf("msg=inference seq=%d label=%s confidence=%.2f latency_ms=%.1f\n", n + 1, kLabels[best],
           kScores[n][best], kLatency[n]);
  }
  Prefix("info");
  printf("msg=\"shutting down\" uptime_ms=%lu\n", Milliseconds());
  return 0;
}
