// Electronic nose like Bosch's BSEC examples: a block per output time, signals indented by tabs,
// gas estimates with accuracies. Printed by BME688 projects that tell smells apart. Ends.
#include "board.h"

#define CLASSES 4
#define STEPS 9

static const struct {
  float celsius, humidity, pascal, ohm, iaq;
  unsigned accuracy;
  float estimate[CLASSES];
} steps[STEPS] = {
    {22.41f, 41.20f, 98731.0f, 151204.0f, 50.0f, 0, {0.25f, 0.27f, 0.26f, 0.22f}},
    {22.44f, 41.17f, 98730.0f, 148877.0f, 52.3f, 1, {0.91f, 0.04f, 0.02f, 0.03f}},
    {22.47f, 41.19f, 98732.0f, 149310.0f, 51.8f, 2, {0.94f, 0.03f, 0.02f, 0.01f}},
    {22.61f, 42.85f, 98731.0f, 87450.0f, 118.6f, 3, {0.31f, 0.62f, 0.02f, 0.05f}},
    {22.74f, 43.93f, 98729.0f, 61283.0f, 164.2f, 3, {0.06f, 0.88f, 0.04f, 0.02f}},
#if SPOILT == SWAPPED
    {22.70f, 43.02f, 98728.0f, 70118.0f, 149.7f, 3, {0.78f, 0.13f, 0.08f, 0.01f}},
#else
    {22.70f, 43.02f, 98728.0f, 70118.0f, 149.7f, 3, {0.13f, 0.78f, 0.08f, 0.01f}},
#endif
    {22.58f, 46.31f, 98730.0f, 24906.0f, 271.5f, 3, {0.01f, 0.09f, 0.87f, 0.03f}},
#if SPOILT == CHANGED
    {22.55f, 47.08f, 98733.0f, 22417.0f, 288.0f, 3, {0.02f, 0.05f, 0.57f, 0.06f}},
#else
    {22.55f, 47.08f, 98733.0f, 22417.0f, 288.0f, 3, {0.02f, 0.05f, 0.87f, 0.06f}},
#endif
    {22.50f, 44.12f, 98734.0f, 39551.0f, 203.9f, 3, {0.07f, 0.02f, 0.23f, 0.68f}},
};

static const char *const smells[CLASSES] = {"clean air", "coffee", "alcohol", "banana"};

int main(void) {
  printf("BME688 on I2C 0x77, chip id 0x61, variant 0x01\r\n");
  printf("BSEC library version 2.4.0.0, config bme688_sel_4c_v11 (2277 bytes)\r\n");
  printf("state: none in flash, run-in starts\r\n");
  for (int n = 0; n < STEPS; ++n) {
    Sleep(150);
    printf("BSEC outputs:\r\n\tTime stamp = %lu\r\n", (unsigned long)Milliseconds());
    printf("\tIAQ = %.1f\taccuracy: %u\r\n", (double)steps[n].iaq, steps[n].accuracy);
    printf("\tTemperature = %.2f\r\n\tHumidity = %.2f\r\n\tPressure = %.0f\r\n",
           (double)steps[n].celsius, (double)steps[n].humidity, (double)steps[n].pascal);
    printf("\tGas resistance = %.0f\tindex: %d\r\n", (double)steps[n].ohm, n % 10);
    int best = 0;
    for (int i = 0; i < CLASSES; ++i) {
      if (steps[n].estimate[i] > steps[n].estimate[best]) best = i;
#if SPOILT == MISSING
      if (n == 4 && i == 2) continue;
#endif
      printf("\tGas estimate %d = %.2f\taccuracy: %u\r\n", i + 1, (double)steps[n].estimate[i],
             steps[n].accuracy);
    }
    if (steps[n].accuracy < 2) {
      printf("\tStabilizing...\r\n");
    } else {
      printf("\tSmell: %s\r\n", smells[best]);
    }
    if (n == 5) printf("state saved, 221 bytes, next in 240 min\r\n");
  }
  printf("sensor to sleep\r\n");
  return 0;
}
