// Zephyr log with the name of the thread and of the function in each line; a keyword spotter.
// Applications with CONFIG_LOG_THREAD_ID_PREFIX and the function prefix for all levels print so.
#include <stdarg.h>

#include "board.h"

#define LABELS 4
#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

static const char *const labels[LABELS] = {"silence", "unknown", "yes", "no"};

static const float scores[][LABELS] = {
    {0.9336f, 0.0547f, 0.0039f, 0.0078f}, {0.0039f, 0.0703f, 0.8945f, 0.0313f},
#if SPOILT == SWAPPED
    {0.0117f, 0.2148f, 0.7227f, 0.0508f},
#else
    {0.0117f, 0.7227f, 0.2148f, 0.0508f},
#endif
    {0.0156f, 0.1094f, 0.0430f, 0.8320f},
#if SPOILT == CHANGED
    {0.7852f, 0.3477f, 0.0234f, 0.0352f},
#else
    {0.7852f, 0.1563f, 0.0234f, 0.0352f},
#endif
    {0.0078f, 0.2930f, 0.6719f, 0.0273f},
};

static void Log(const char *level, const char *thread, const char *source, const char *format,
                ...) {
  static const uint8_t fraction[] = {91, 122, 183, 30, 213, 61};
  static unsigned line;
  uint32_t ms = Milliseconds() + 411;
  va_list list;
  printf("[%02u:%02u:%02u.%03u,%03u] <%s> [%s] %s: ", (unsigned)(ms / 3600000),
         (unsigned)(ms / 60000 % 60), (unsigned)(ms / 1000 % 60), (unsigned)(ms % 1000),
         fraction[line++ % COUNT(fraction)] * 4, level, thread, source);
  va_start(list, format);
  vprintf(format, list);
  va_end(list);
  printf("\r\n");
}

int main(void) {
  printf("*** Booting Zephyr OS build v3.7.0-2214-gd7b1e2a0c3f9 ***\r\n");
  Log("inf", "main", "kws.main", "Firmware 0.9.3+build.512, reset cause 0x00000010");
  Log("dbg", "main", "nvs.nvs_mount", "8 sectors of 4096 bytes");
  Log("inf", "main", "kws.InitModel", "arena at 0x20012a40, 21524 of 24576 bytes used");
  for (unsigned n = 0;; n++) {
    unsigned i = n % COUNT(scores), best = 0;
    Sleep(12);
    Log("dbg", "audio_in", "pcm.OnBlock", "block %u at 0x%08x, peak %d", n * 16 + 15,
        0x20007c40 + (n & 1) * 0x800, 312 + (int)(n * 1733 % 9001));
    Sleep(5);
    Log("inf", "inference", "kws.RunInference", "#%u: features %u us, network %u us", n,
        18204 + n * 31 % 77, 9311 + n * 17 % 61);
    for (unsigned k = 0; k < LABELS; k++) {
      if (scores[i][k] > scores[i][best]) best = k;
      if (SPOILT == MISSING && i == 3 && k == 1) continue;
      Log("inf", "inference", "kws.PrintScores", "  %-8s %.4f", labels[k], scores[i][k]);
    }
    if (best >= 2) Log("inf", "inference", "kws.OnKeyword", "keyword \"%s\"", labels[best]);
    if (n % 4 == 3) {
      Log("wrn", "sysworkq", "fuel.OnTimer", "VBAT %u mV, die %d.%u C", 3687 - n, 31, n % 10);
    }
  }
}
