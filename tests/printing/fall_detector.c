// Fall detector of a wearable: raw IMU readings and scores on one line, a running average, alerts.
// Printed by sensor-fusion firmware on a serial console for field tests. Ends.
#include "board.h"

#define WINDOWS 12
#define AVERAGE 3

static const struct {
  int16_t acc[3];  // 4 g full scale, 8192 LSB/g
  int16_t gyr[3];  // 500 dps full scale, 65.5 LSB/dps
  float p[3];
} windows[WINDOWS] = {
    {{-212, 8045, 903}, {31, -52, 18}, {0.962f, 0.027f, 0.011f}},
    {{-187, 8102, 871}, {44, -38, 25}, {0.951f, 0.034f, 0.015f}},
    {{640, 9310, 1422}, {880, -415, 301}, {0.874f, 0.103f, 0.023f}},
    {{1985, 6120, 2790}, {5210, -2874, 1606}, {0.318f, 0.594f, 0.088f}},
#if SPOILT == SWAPPED
    {{2410, 3055, 1180}, {9820, -6113, 2940}, {0.653f, 0.236f, 0.111f}},
#else
    {{2410, 3055, 1180}, {9820, -6113, 2940}, {0.111f, 0.236f, 0.653f}},
#endif
    {{14870, -9025, 20412}, {-15030, 8841, -7215}, {0.024f, 0.058f, 0.918f}},
#if SPOILT == CHANGED
    {{7391, 1104, 3160}, {-610, 352, -97}, {0.067f, 0.049f, 0.684f}},
#else
    {{7391, 1104, 3160}, {-610, 352, -97}, {0.067f, 0.049f, 0.884f}},
#endif
    {{7420, 1066, 3217}, {-22, 14, -9}, {0.129f, 0.074f, 0.797f}},
    {{7415, 1071, 3209}, {12, -7, 5}, {0.446f, 0.062f, 0.492f}},
    {{5120, 4890, 2655}, {1740, 903, -1188}, {0.713f, 0.181f, 0.106f}},
    {{1204, 7690, 1530}, {620, -204, 155}, {0.902f, 0.079f, 0.019f}},
    {{-96, 8077, 955}, {38, -45, 21}, {0.957f, 0.029f, 0.014f}},
};

static float Root(float x) {
  float r = x > 1.0f ? x : 1.0f;
  for (int i = 0; i < 12; ++i) r = 0.5f * (r + x / r);
  return r;
}

int main(void) {
  printf("\r\nFALLGUARD fw 2.4.1 build 1187 [d09e5f2]  reset: POR\r\n");
  printf("LSM6DSO id 0x6C ok, odr 104 Hz, fs 4 g / 500 dps\r\n");
  printf("NN: in 156x6, out adl/stumble/fall, arena 9216 B, avg over %d\r\n", AVERAGE);
  float history[AVERAGE] = {0};
  int alarm = 0, still = 0;
  for (int n = 0; n < WINDOWS; ++n) {
    Sleep(75);
    float a[3], g[3], square = 0;
    for (int i = 0; i < 3; ++i) {
      a[i] = (float)windows[n].acc[i] / 8192.0f;
      g[i] = (float)windows[n].gyr[i] / 65.5f;
      square += a[i] * a[i];
    }
    history[n % AVERAGE] = windows[n].p[2];
    float average = 0;
    for (int i = 0; i < AVERAGE; ++i) average += history[i] / AVERAGE;
    printf("%lu a=%.2f,%.2f,%.2f g=%.1f,%.1f,%.1f svm=%.2f", (unsigned long)Milliseconds(),
           (double)a[0], (double)a[1], (double)a[2], (double)g[0], (double)g[1], (double)g[2],
           (double)Root(square));
    printf(" adl=%.3f stu=%.3f", (double)windows[n].p[0], (double)windows[n].p[1]);
#if SPOILT == MISSING
    if (n != 5)
#endif
      printf(" fall=%.3f", (double)windows[n].p[2]);
    printf(" avg=%.3f%s\r\n", (double)average, alarm ? " ALARM" : "");
    if (!alarm && average > 0.5f) {
      alarm = 1;
      still = 0;
      printf("!! FALL suspected, buzzer on, waiting for the button\r\n");
    } else if (alarm && windows[n].p[0] > 0.7f && ++still == 2) {
      alarm = 0;
      printf("!! alarm cancelled, wearer is up again\r\n");
    }
    if (n == 7) printf("batt 3.87 V, 71 %%, BLE conn 1, steps 4312\r\n");
  }
  printf("log full, %d windows written\r\n", WINDOWS);
  return 0;
}
