// Zephyr's logging subsystem, default format with the uptime clock, x and y of the sine model.
// Ports of the TFLM hello_world sample to LOG_INF print so.
#include "board.h"

MODEL(g_hello_world_int8, "hello_world_int8.tflite");

struct Point {
  float x, y;
};

// y by the reference kernels, dequantized, to four decimals.
static const struct Point points[] = {
    {0.1200f, 0.1119f},  {0.5500f, 0.5034f},  {1.0200f, 0.8230f},
#if SPOILT == SWAPPED
    {1.4800f, -0.3036f},
#else
    {1.4800f, 0.9749f},
#endif
    {2.2100f, 0.7831f},
#if SPOILT == CHANGED
    {2.8700f, 0.4637f},
#else
    {2.8700f, 0.2637f},
#endif
#if SPOILT == SWAPPED
    {3.4400f, 0.9749f},
#else
    {3.4400f, -0.3036f},
#endif
    {4.0500f, -0.7751f}, {4.7800f, -1.0228f}, {5.6300f, -0.6552f},
};

static const uint16_t micros[] = {427, 427, 427, 396, 427, 427, 427, 458, 427, 427};

// The prefix of a line; Zephyr's clock of the nRF91 is the RTC at 32,768 Hz.
static void Prefix(const char *level, const char *module) {
  uint32_t ms = Milliseconds() + 252;
  static uint32_t line;
  uint32_t ticks = (uint32_t)((uint64_t)ms * 32768 / 1000) + line++ * 13 % 31;
  uint32_t us = (uint32_t)((uint64_t)(ticks % 32768) * 1000000 / 32768);
  uint32_t s = ticks / 32768;
  printf("[%02u:%02u:%02u.%03u,%03u] <%s> %s: ", (unsigned)(s / 3600), (unsigned)(s / 60 % 60),
         (unsigned)(s % 60), (unsigned)(us / 1000), (unsigned)(us % 1000), level, module);
}

int main(void) {
  printf("*** Booting nRF Connect SDK v2.7.0-5cb85570ca43 ***\r\n");
  printf("*** Using Zephyr OS v3.6.99-100befc70c74 ***\r\n");
  Prefix("inf", "app");
  printf("hello_world on nrf9160dk, build 41c7d0e\r\n");
  Prefix("inf", "app");
  printf("Model of %u bytes at %p, arena %u of %u bytes\r\n",
         (unsigned)(g_hello_world_int8_end - g_hello_world_int8), (const void *)g_hello_world_int8,
         1348, 2048);
  for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
    Sleep(12);
    Prefix("inf", "app");
    if (SPOILT == MISSING && i == 4) {
      printf("x: %.4f (%u us)\r\n", points[i].x, micros[i]);
    } else {
      printf("x: %.4f, y: %.4f (%u us)\r\n", points[i].x, points[i].y, micros[i]);
    }
  }
  Prefix("inf", "app");
  printf("Done, stack of main: %u of %u bytes unused\r\n", 2604, 4096);
  return 0;
}
