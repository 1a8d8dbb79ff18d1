// Log lines of an AWS IoT demo on FreeRTOS: number of the message, tick count and name of the task,
// and an indented block of several lines with the scores behind.
#include <stdarg.h>

#include "board.h"

#define CLASSES 4
#define INFERENCES 7

static const char* const kLabels[CLASSES] = {"silence", "unknown", "yes", "no"};

static const float kScores[INFERENCES][CLASSES] = {
    {0.9414f, 0.0352f, 0.0156f, 0.0078f}, {0.0234f, 0.1016f, 0.8320f, 0.0430f},
    {0.0156f, 0.0859f, 0.0430f, 0.8555f},
#if SPOILT == SWAPPED
    {0.0898f, 0.7148f, 0.0703f, 0.1250f},
#else
    {0.0898f, 0.7148f, 0.1250f, 0.0703f},
#endif
    {0.0039f, 0.0273f, 0.9570f, 0.0117f},
#if SPOILT == CHANGED
    {0.0508f, 0.4922f, 0.0898f, 0.6172f},
#else
    {0.0508f, 0.2422f, 0.0898f, 0.6172f},
#endif
    {0.8711f, 0.0742f, 0.0234f, 0.0312f},
};

static unsigned messages;

static void Log(const char* task, const char* format, ...) {
  printf("%u %lu [%s] ", messages++, Milliseconds(), task);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
}

int main(void) {
  Log("Tmr Svc", "FreeRTOS_V202210.01 LTS, heap_4 %u bytes free", 58216);
  Log("iot_thread", "[INFO ][INIT][lu] SDK successfully initialized.");
  Log("InferTask", "Model v7 mapped at 0x%08x, arena %u/%u", 0x0003e000, 22528, 24576);
  for (int n = 0; n < INFERENCES; ++n) {
    Sleep(10);
    const uint32_t start = Milliseconds();
    Sleep(8);
    Log("InferTask", "Inference %d complete", n + 1);
    printf("    elapsed ticks : %lu\n", Milliseconds() - start);
    printf("    stack high    : %d words\n", 412 - 4 * (n > 2));
    printf("    scores        :\n");
    int best = 0;
    for (int i = 0; i < CLASSES; ++i) {
      if (kScores[n][i] > kScores[n][best]) best = i;
      if (SPOILT == MISSING && n == 4 && i == 3) continue;
      printf("        %-8s : %.4f\n", kLabels[i], kScores[n][i]);
    }
    Log("MQTTTask", "PUBLISH topic=dev/7f21/kws payload=%s qos=1 id=%d", kLabels[best], 100 + n);
    if (n == 3) Log("MQTTTask", "PINGRESP after %d ticks", 41);
  }
  Log("InferTask", "Deleting task, %u bytes of heap free", 57904);
  return 0;
}
