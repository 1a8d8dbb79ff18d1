// One value of a regression with its unit, for ever, after the readings that it was computed from,
// as weather stations and thermostats print.
#include "board.h"

#define PERIOD 8

static const float kTemperature[PERIOD] = {20.81f, 20.94f, 21.37f, 22.05f,
                                           22.91f, 22.48f, 21.66f, 21.02f};
static const float kHumidity[PERIOD] = {46.2f, 45.9f, 44.7f, 43.0f, 41.8f, 42.5f, 44.1f, 45.6f};
static const float kPressure[PERIOD] = {1009.8f, 1009.7f, 1009.4f, 1009.1f,
                                        1008.6f, 1008.8f, 1009.2f, 1009.6f};

static const float kForecast[PERIOD] = {
    21.43f, 21.92f,
#if SPOILT == SWAPPED
    23.58f, 22.70f,
#else
    22.70f, 23.58f,
#endif
    23.11f,
#if SPOILT == CHANGED
    23.37f,
#else
    22.04f,
#endif
    21.15f, 20.67f,
};

int main(void) {
  printf("weather-node 0.9.4 (c77d21e), sensor id 0x60 on i2c1\n");
  printf("model: 60 min ahead, 5.1 kB, quantized: no\n");
  for (uint32_t n = 0;; ++n) {
    const int row = n % PERIOD;
    const uint32_t now = Milliseconds();
    printf("[%6lu.%03lu] T=%.2f degC RH=%.1f %% p=%.1f hPa\n", now / 1000, now % 1000,
           kTemperature[row], kHumidity[row], kPressure[row]);
    if (SPOILT != MISSING || row != 6) {
      printf("temperature forecast: %.2f degC\n", kForecast[row]);
    }
    Sleep(10);
  }
}
