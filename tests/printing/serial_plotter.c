// Arduino Nano 33 BLE Sense sketch for the Serial Plotter: one line of label:value pairs for each
// window, sensor readings and scale limits among the class scores. Runs for ever. No model.
#include "board.h"

typedef struct {
  float a_sum;     // g
  float score[4];  // wave, punch, flex, circle
} Window;

static const char* const kLabels[] = {"wave", "punch", "flex", "circle"};

static const Window kWindows[] = {
    {1.02f, {0.27f, 0.11f, 0.38f, 0.24f}}, {2.61f, {0.03f, 0.92f, 0.04f, 0.01f}},
#if SPOILT == SWAPPED
    {3.48f, {0.97f, 0.02f, 0.01f, 0.00f}},
#else
    {3.48f, {0.02f, 0.97f, 0.01f, 0.00f}},
#endif
    {1.37f, {0.14f, 0.05f, 0.73f, 0.08f}},
#if SPOILT == CHANGED
    {1.55f, {0.09f, 0.03f, 0.61f, 0.06f}},
#else
    {1.55f, {0.09f, 0.03f, 0.82f, 0.06f}},
#endif
    {1.94f, {0.88f, 0.04f, 0.02f, 0.06f}}, {2.07f, {0.64f, 0.01f, 0.03f, 0.32f}},
    {1.71f, {0.12f, 0.00f, 0.05f, 0.83f}}, {1.66f, {0.07f, 0.02f, 0.00f, 0.91f}},
};
enum { kCount = sizeof(kWindows) / sizeof(kWindows[0]) };

int main(void) {
  Sleep(120);
  printf("LSM9DS1 ok\r\n");
  printf("Accelerometer sample rate = 119.00 Hz\r\n");
  printf("Gyroscope sample rate = 119.00 Hz\r\n");
  printf("HTS221 ok\r\n");
  printf("# BLE advertising as NanoGesture, d1:0c:7e:22:9b:f4\r\n");
  for (unsigned n = 0;; n++) {
    const Window* w = &kWindows[n % kCount];
    Sleep(100);
    if (n == 3) printf("# central 5c:f3:70:8e:12:04 connected\r\n");
    printf("aSum:%.2f,temp:%.1f,", (double)w->a_sum, 24.1 + 0.1 * (double)(n / kCount % 8));
    for (unsigned i = 0; i < 4; i++) {
#if SPOILT == MISSING
      if (n % kCount == 6 && i == 3) continue;
#endif
      printf("%s:%.2f,", kLabels[i], (double)w->score[i]);
    }
    printf("lo:0,hi:1\r\n");
  }
}
