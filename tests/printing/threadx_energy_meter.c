// ThreadX energy meter that splits the load among appliances: telemetry as key=value with units
// glued to the numbers, estimates in watts, and a dump of the threads. Ends. No model.
#include "board.h"

enum { kWindows = 8, kLoads = 5 };
static const char* const kNames[kLoads] = {"fridge", "kettle", "washer", "oven", "lights"};

typedef struct {
  float volts, hertz, power;  // measured
  float watts[kLoads];        // estimated
} Window;

static const Window kWindow[kWindows] = {
    {231.2f, 50.01f, 158.3f, {84.6f, 0.0f, 0.0f, 0.0f, 61.3f}},
    {231.0f, 50.01f, 220.5f, {82.1f, 3.7f, 0.0f, 0.0f, 118.8f}},
#if SPOILT == SWAPPED
    {228.4f, 49.99f, 2244.7f, {83.3f, 22.6f, 1987.5f, 0.0f, 120.2f}},
#else
    {228.4f, 49.99f, 2244.7f, {83.3f, 1987.5f, 22.6f, 0.0f, 120.2f}},
#endif
    {226.1f, 49.98f, 2543.3f, {1.2f, 1962.0f, 431.8f, 0.0f, 119.6f}},
    {230.3f, 50.00f, 670.4f, {0.9f, 5.4f, 512.7f, 14.2f, 117.9f}},
#if SPOILT == CHANGED
    {225.5f, 49.98f, 2413.0f, {1.1f, 0.0f, 488.2f, 1391.6f, 121.4f}},
#else
    {225.5f, 49.98f, 2413.0f, {1.1f, 0.0f, 488.2f, 1758.3f, 121.4f}},
#endif
    {224.9f, 49.97f, 3927.8f, {79.8f, 8.1f, 1893.4f, 1771.9f, 122.0f}},
    {226.7f, 49.99f, 2251.3f, {80.5f, 0.0f, 307.1f, 1765.2f, 60.7f}},
};

static void Threads(unsigned window) {
  printf("thread            pri state     stack      runs\r\n");
  printf("adc_thread          4 SUSPENDED 0412/1024  %u\r\n", 2000 * (window + 1));
  printf("nilm_thread        10 READY     2968/4096  %u\r\n", window + 1);
  printf("System Timer Thread 0 SUSPENDED 0232/1024  %u\r\n", 41 * (window + 1));
}

int main(void) {
  double kwh = 4187.312;
  printf("\r\nStarting Eclipse ThreadX 6.4.1 (PORT Cortex-M33/GNU)\r\n");
  printf("LoadWatch LW-1 fw=2.0.6 git=0d94e7b sn=LW1-004417\r\n");
  printf("byte pool 'app' 0x2000a400 size 32768 free 21544\r\n");
  printf("replay of flash log, clock x50, window=10s\r\n");
  Sleep(100);
  for (unsigned w = 0; w < kWindows; w++) {
    const Window* x = &kWindow[w];
    float rest = x->power;
    for (unsigned i = 0; i < kLoads; i++) rest -= x->watts[i];
    Sleep(200);
    kwh += (double)x->power * 10 / 3600e3;
    printf("t=%lums U=%.1fV I=%.2fA f=%.2fHz P=%.1fW E=%.3fkWh", (unsigned long)Milliseconds(),
           (double)x->volts, (double)(x->power / x->volts), (double)x->hertz, (double)x->power,
           kwh);
    for (unsigned i = 0; i < kLoads; i++) {
#if SPOILT == MISSING
      if (w == 4 && i == 3) continue;
#endif
      printf(" %s=%.1fW", kNames[i], (double)x->watts[i]);
    }
    printf(" rest=%.1fW nn=%.2fms\r\n", (double)rest, 7.81 + 0.01 * (w * 5 % 4));
    if (w % 4 == 3) Threads(w);
  }
  Sleep(120);
  printf("PVD: mains lost, U=81.3V, saving E=%.3fkWh to page 126\r\n", kwh);
  return 0;
}
