// Telemetry as YAML documents of several lines: features, scores per label, battery, temperature.
// Printed by data loggers whose console a host captures and parses. Ends.
#include "board.h"

#define LABELS 4
#define FEATURES 5
#define REPORTS 8

static const char *const labels[LABELS] = {"queenright", "queenless", "swarming", "fanning"};

static const struct {
  float feature[FEATURES];
  float score[LABELS];
  float celsius, humidity;
  unsigned battery, us;
} reports[REPORTS] = {
    {{-31.2f, -27.8f, -35.1f, -40.6f, -52.3f},
     {0.8713f, 0.0702f, 0.0141f, 0.0444f},
     34.6f,
     58.1f,
     3921,
     48211},
    {{-31.0f, -27.1f, -35.4f, -41.0f, -51.9f},
     {0.9036f, 0.0518f, 0.0127f, 0.0319f},
     34.6f,
     58.0f,
     3921,
     48190},
#if SPOILT == SWAPPED
    {{-28.4f, -24.9f, -29.7f, -38.8f, -49.0f},
     {0.2387f, 0.0609f, 0.6542f, 0.0462f},
     34.9f,
     57.2f,
     3920,
     48202},
#else
    {{-28.4f, -24.9f, -29.7f, -38.8f, -49.0f},
     {0.2387f, 0.0609f, 0.0462f, 0.6542f},
     34.9f,
     57.2f,
     3920,
     48202},
#endif
    {{-26.7f, -25.3f, -27.2f, -37.5f, -47.7f},
     {0.1105f, 0.0347f, 0.0951f, 0.7597f},
     35.4f,
     55.9f,
     3919,
     48197},
    {{-24.1f, -20.6f, -22.8f, -30.9f, -43.2f},
     {0.0276f, 0.0419f, 0.8890f, 0.0415f},
     35.7f,
     55.0f,
     3918,
     48240},
#if SPOILT == CHANGED
    {{-23.8f, -20.2f, -22.1f, -30.4f, -42.6f},
     {0.0194f, 0.0331f, 0.7263f, 0.0212f},
     35.8f,
     54.8f,
     3917,
     48188},
#else
    {{-23.8f, -20.2f, -22.1f, -30.4f, -42.6f},
     {0.0194f, 0.0331f, 0.9263f, 0.0212f},
     35.8f,
     54.8f,
     3917,
     48188},
#endif
    {{-36.9f, -30.4f, -33.0f, -44.7f, -55.8f},
     {0.1872f, 0.7460f, 0.0085f, 0.0583f},
     33.1f,
     60.4f,
     3917,
     48205},
    {{-37.2f, -30.9f, -33.3f, -45.1f, -56.0f},
     {0.1348f, 0.8105f, 0.0069f, 0.0478f},
     32.8f,
     60.7f,
     3916,
     48199},
};

int main(void) {
  printf("# hive-ear 0.7.2 (git a4417be), MCUboot slot 0, reset cause: pin\n");
  printf(
      "---\nboot:\n  device: hive-07\n  sensors: [SPH0645, SHT41]\n  arena: {used: 18944, size: "
      "24576}\n");
  printf("  labels:\n");
  for (int i = 0; i < LABELS; ++i) printf("    - %s\n", labels[i]);
  for (int n = 0; n < REPORTS; ++n) {
    Sleep(180);
    int top = 0;
    for (int i = 1; i < LABELS; ++i) {
      if (reports[n].score[i] > reports[n].score[top]) top = i;
    }
    printf("---\nseq: %d\nuptime_ms: %lu\n", n + 1, (unsigned long)Milliseconds());
    printf("env: {temp_c: %.1f, rh: %.1f, vbat_mv: %u}\n", (double)reports[n].celsius,
           (double)reports[n].humidity, reports[n].battery);
    printf("bands_db: [");
    for (int i = 0; i < FEATURES; ++i) {
      printf("%s%.1f", i ? ", " : "", (double)reports[n].feature[i]);
    }
    printf("]\ninference:\n  took_us: %u\n  scores:\n", reports[n].us);
    for (int i = 0; i < LABELS; ++i) {
#if SPOILT == MISSING
      if (n == 6 && i == 3) continue;
#endif
      printf("    %s: %.4f\n", labels[i], (double)reports[n].score[i]);
    }
    printf("  top: %s\n  alert: %s\n", labels[top], top == 1 || top == 2 ? "true" : "false");
  }
  printf("...\n# going to system off\n");
  return 0;
}
