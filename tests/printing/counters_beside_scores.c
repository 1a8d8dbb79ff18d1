// Counters beside the scores: number of the inference, free heap, turns of the main loop and uptime
// in one line with the class scores, as monitoring firmware with a super loop prints them.
#include "board.h"

#define CLASSES 3
#define INFERENCES 10

static const char* const kLabels[CLASSES] = {"healthy", "worn", "broken"};

static const float kScores[INFERENCES][CLASSES] = {
    {0.912f, 0.061f, 0.027f}, {0.887f, 0.094f, 0.019f}, {0.431f, 0.538f, 0.031f},
#if SPOILT == SWAPPED
    {0.702f, 0.209f, 0.089f},
#else
    {0.209f, 0.702f, 0.089f},
#endif
    {0.118f, 0.643f, 0.239f}, {0.034f, 0.215f, 0.751f},
#if SPOILT == CHANGED
    {0.012f, 0.056f, 0.732f},
#else
    {0.012f, 0.056f, 0.932f},
#endif
    {0.047f, 0.391f, 0.562f}, {0.688f, 0.271f, 0.041f}, {0.951f, 0.038f, 0.011f},
};

static const uint16_t kHeapFree[INFERENCES] = {10840, 10712, 10712, 10584, 10840,
                                               10840, 10328, 10712, 10712, 10840};
static const uint16_t kLoops[INFERENCES] = {118, 97, 102, 99, 131, 98, 104, 97, 100, 112};
static const uint16_t kMicroseconds[INFERENCES] = {4312, 4298, 4297, 4301, 4298,
                                                   4299, 4344, 4298, 4297, 4300};

int main(void) {
  printf("\r\ngearbox-monitor v1.8.2 (g9f3c0de) built Mar 11 2025 16:20:41\r\n");
  printf("reset: POR  clk 64 MHz  stack 4096 B  arena 21744/32768 B @0x2000c1a0\r\n");
  printf("classes:");
  for (int i = 0; i < CLASSES; ++i) printf(" %s", kLabels[i]);
  printf("\r\n");
  uint32_t loops = 0;
  for (int n = 0; n < INFERENCES; ++n) {
    Sleep(12);
    loops += kLoops[n];
    const uint32_t up = Milliseconds();
    printf("inf #%d heap free %u loop %lu up %lu.%03lus |", n + 1, kHeapFree[n], loops, up / 1000,
           up % 1000);
    for (int i = 0; i < CLASSES; ++i) {
      if (SPOILT == MISSING && n == 4 && i == 1) continue;
      printf(" %s %.3f", kLabels[i], kScores[n][i]);
    }
    printf(" | %u us\r\n", kMicroseconds[n]);
  }
  printf("watch window closed after %d inferences, %lu loops\r\n", INFERENCES, loops);
  return 0;
}
