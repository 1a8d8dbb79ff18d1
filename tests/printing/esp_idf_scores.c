// ESP-IDF's log: level, milliseconds in brackets, tag; five scores an inference, one a line.
// Applications with esp-tflite-micro that print with ESP_LOGI do so.
#include <stdarg.h>

#include "board.h"

static const char *const kTag = "app_main";
static const char *const kActivity[5] = {"sitting", "standing", "walking", "running", "cycling"};

struct Window {
  uint32_t us;
  float rms;
  float score[5];
};

static const struct Window kWindows[6] = {
    {13108, 0.021f, {0.8812f, 0.1043f, 0.0087f, 0.0011f, 0.0047f}},
    {13096, 0.034f, {0.2217f, 0.7369f, 0.0312f, 0.0024f, 0.0078f}},
    {13101, 0.412f, {0.0103f, 0.0581f, 0.8436f, 0.0652f, 0.0228f}},
#if SPOILT == SWAPPED
    {13122, 1.873f, {0.0019f, 0.0034f, 0.9164f, 0.0711f, 0.0072f}},
#else
    {13122, 1.873f, {0.0019f, 0.0034f, 0.0711f, 0.9164f, 0.0072f}},
#endif
    {13099, 0.655f, {0.0416f, 0.0198f, 0.1530f, 0.0325f, 0.7531f}},
#if SPOILT == CHANGED
    {13104, 0.398f, {0.0264f, 0.1407f, 0.5748f, 0.0422f, 0.0152f}},
#else
    {13104, 0.398f, {0.0264f, 0.1407f, 0.7755f, 0.0422f, 0.0152f}},
#endif
};

static void EspLog(char level, const char *tag, const char *format, ...) {
  va_list arguments;
  printf("%c (%u) %s: ", level, (unsigned)(Milliseconds() + 327), tag);
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

int main(void) {
  printf("rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)\n");
  printf("mode:DIO, clock div:1\nload:0x3fce3810,len:0x178c\nentry 0x403c8904\n");
  printf("I (26) boot: ESP-IDF v5.2.1-dirty 2nd stage bootloader\n");
  printf("I (27) boot: compile time May 14 2024 09:41:17\n");
  printf("I (31) boot.esp32s3: Boot SPI Speed : 80MHz\n");
  printf("I (213) cpu_start: Pro cpu start user code, cpu freq: 240000000 Hz\n");
  printf("I (234) app_init: App version:      v1.3.0-7-g82f0c1b\n");
  printf("I (251) heap_init: At 3FC9A2F8 len 0004F418 (316 KiB): RAM\n");
  printf("W (274) i2c: This driver is an old driver, please migrate\n");
  EspLog('I', "main_task", "Calling app_main()");
  EspLog('I', kTag, "MPU6050 WHO_AM_I = 0x%02x", 0x68);
  EspLog('I', kTag, "Arena: %d of %d bytes, free heap %d", 17840, 20480, 281412);
  for (int n = 0; n < 6; n++) {
    const struct Window *window = &kWindows[n];
    int winner = 0;
    Sleep(25);
    EspLog('I', kTag, "Window %d: |a| rms %.3f g, invoke %u us", n + 1, window->rms,
           (unsigned)window->us);
    for (int k = 0; k < 5; k++) {
      if (window->score[k] > window->score[winner]) winner = k;
      if (SPOILT == MISSING && n == 1 && k == 2) continue;
      EspLog('I', kTag, "score[%d] %-9s= %.4f", k, kActivity[k], window->score[k]);
    }
    EspLog(window->score[winner] < 0.75f ? 'W' : 'I', kTag, "==> %s", kActivity[winner]);
  }
  EspLog('I', kTag, "Min free heap %d, going to deep sleep for 60 s", 279008);
  return 0;
}
