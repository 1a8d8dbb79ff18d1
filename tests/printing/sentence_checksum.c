// Sentences like those of NMEA 0183: `$`, pairs of key and value with semicolons, `*` and the XOR
// of the characters between, for ever, as trackers and marine sensors print.
#include <stdarg.h>

#include "board.h"

#define CLASSES 3
#define PERIOD 6

static const char* const kLabels[CLASSES] = {"idle", "sail", "motor"};

static const float kScores[PERIOD][CLASSES] = {
    {0.93f, 0.04f, 0.03f}, {0.58f, 0.35f, 0.07f},
#if SPOILT == SWAPPED
    {0.08f, 0.01f, 0.91f},
#else
    {0.08f, 0.91f, 0.01f},
#endif
    {0.02f, 0.83f, 0.15f},
#if SPOILT == CHANGED
    {0.21f, 0.24f, 0.75f},
#else
    {0.01f, 0.24f, 0.75f},
#endif
    {0.05f, 0.06f, 0.89f},
};
static const float kHeel[PERIOD] = {1.2f, 3.4f, 14.8f, 16.1f, 4.0f, 2.2f};

static char sentence[96];
static int length;

static void Add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(sentence + length, sizeof sentence - length, format, arguments);
  va_end(arguments);
}

static void Send(void) {
  uint8_t sum = 0;
  for (int i = 0; i < length; ++i) sum ^= sentence[i];
  printf("$%s*%02X\r\n", sentence, sum);
  length = 0;
}

int main(void) {
  Add("MLVER;fw: 4.0.7;model: boat3;crc: 5D02");
  Send();
  for (uint32_t n = 0;; ++n) {
    Sleep(12);
    const int row = n % PERIOD;
    int best = 0;
    Add("MLRES;seq: %lu;t: %lu", n, Milliseconds());
    for (int i = 0; i < CLASSES; ++i) {
      if (kScores[row][i] > kScores[row][best]) best = i;
      if (SPOILT == MISSING && row == 3 && i == 1) continue;
      Add(";%s: %.2f", kLabels[i], kScores[row][i]);
    }
    Add(";top: %s", kLabels[best]);
    Send();
    if (n % 4 == 3) {
      Add("MLSTA;bat: 12.%lu;heel: %.1f", 8 - n / 4 % 3, kHeel[row]);
      Send();
    }
  }
}
