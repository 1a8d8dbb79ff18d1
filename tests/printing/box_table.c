// A table that grows by a row an inference, drawn with Unicode's box characters.
// Demonstrations shown in a terminal at full width print so.
#include "board.h"

#define N 9

enum { kHealthy, kImbalance, kBearing, kLoose, kStates };
static const char *const kState[kStates] = {"healthy", "imbal.", "bearing", "loose"};

static const float kScore[N][kStates] = {
    {0.947f, 0.028f, 0.014f, 0.011f}, {0.902f, 0.061f, 0.020f, 0.017f},
    {0.376f, 0.543f, 0.048f, 0.033f},
#if SPOILT == SWAPPED
    {0.752f, 0.118f, 0.091f, 0.039f},
#else
    {0.118f, 0.752f, 0.091f, 0.039f},
#endif
    {0.084f, 0.233f, 0.629f, 0.054f}, {0.036f, 0.095f, 0.858f, 0.011f},
#if SPOILT == CHANGED
    {0.062f, 0.079f, 0.150f, 0.458f},
#else
    {0.062f, 0.079f, 0.150f, 0.709f},
#endif
    {0.023f, 0.042f, 0.108f, 0.827f}, {0.881f, 0.012f, 0.065f, 0.042f},
};
static const int kRpm[N] = {1492, 1490, 1488, 1481, 1476, 1468, 1470, 1466, 1491};

static void Rule(const char *left, const char *cross, const char *right) {
  static const int widths[] = {4, 8, 6, 9, 9, 9, 9, 9};
  printf("%s", left);
  for (int column = 0; column < 8; column++) {
    for (int i = 0; i < widths[column]; i++) printf("─");
    printf("%s", column < 7 ? cross : right);
  }
  printf("\r\n");
}

int main(void) {
  printf("\r\nMotor monitor 0.8.1  (sensor: IIS3DWB, 26.7 kHz)\r\n");
  Rule("┌", "┬", "┐");
  printf("│  # │     ms │  rpm │ healthy │  imbal. │ bearing │   loose │ state   │\r\n");
  Rule("├", "┼", "┤");
  for (int n = 0; n < N; n++) {
    int state = kHealthy;
    Sleep(15);
    printf("│ %2d │ %6u │ %4d │", n + 1, (unsigned)Milliseconds(), kRpm[n]);
    for (int k = 0; k < kStates; k++) {
      if (kScore[n][k] > kScore[n][state]) state = k;
      if (SPOILT == MISSING && n == 5 && k == kImbalance) {
        printf("         │");
      } else {
        printf("   %.3f │", kScore[n][k]);
      }
    }
    printf(" %-7s │\r\n", kState[state]);
  }
  Rule("└", "┴", "┘");
  return 0;
}
