// MicroPython board at its REPL: a user types calls of an int8 sine model and sees tuples
// (input byte, output byte, float), and one traceback. Ends. Model: hello_world_int8.
#include "board.h"

MODEL(sine, "hello_world_int8.tflite");

typedef struct {
  const char* typed;
  int input, output;
} Call;

// Inputs are round(x / 0.02463994) - 128. Outputs were computed with tflite_micro.
static const Call kCalls[] = {
    {"0", -128, 0},
    {"0.5", -108, 57},
    {"1", -87, 103},
#if SPOILT == SWAPPED
    {"2", -47, 77},
    {"2.5", -27, 113},
#else
    {"2", -47, 113},
    {"2.5", -27, 77},
#endif
    {"math.pi", 0, -2},
#if SPOILT == CHANGED
    {"4", 34, -61},
#else
    {"4", 34, -95},
#endif
    {"1.5 * math.pi", 63, -127},
    {"5.5", 95, -94},
    {"6.2", 124, -11},
};

static void Type(const char* text) {
  Sleep(60);
  for (const char* c = text; *c; c++) {
    putchar(*c);
    fflush(stdout);
    Sleep(2);
  }
  printf("\r\n");
}

int main(void) {
  printf("\r\nMPY: soft reboot\r\n");
  printf("MicroPython v1.22.2 on 2024-02-22; nRF9160-DK with NRF9160\r\n");
  printf("Type \"help()\" for more information.\r\n");
  printf(">>> ");
  Type("import tflm, math, gc");
  printf(">>> ");
  Type("gc.collect(); gc.mem_free()");
  printf("61520\r\n>>> ");
  Type("m = tflm.Model('/flash/sine.tflite', arena=2048)");
  printf(">>> ");
  Type("m");
  printf("<Model in=int8[1, 1] out=int8[1, 1] size=%u arena=1184/2048>\r\n>>> ",
         (unsigned)(sine_end - sine));
  Type("def f(x):");
  printf("... ");
  Type("    q = round(x / m.in_scale) + m.in_zero");
  printf("... ");
  Type("    r = m.invoke(q)");
  printf("... ");
  Type("    return q, r, r * m.out_scale");
  printf("... ");
  Type("");
  for (unsigned i = 0; i < sizeof(kCalls) / sizeof(kCalls[0]); i++) {
    char line[32];
    if (i == 6) {
      printf(">>> ");
      Type("f(7)");
      printf("Traceback (most recent call last):\r\n");
      printf("  File \"<stdin>\", line 1, in <module>\r\n");
      printf("  File \"<stdin>\", line 3, in f\r\n");
      printf("ValueError: 156 does not fit int8\r\n");
    }
    printf(">>> ");
    snprintf(line, sizeof(line), "f(%s)", kCalls[i].typed);
    Type(line);
#if SPOILT == MISSING
    if (i == 2) continue;
#endif
    if (kCalls[i].output == 0) {
      printf("(%d, 0, 0.0)\r\n", kCalls[i].input);
    } else {
      printf("(%d, %d, %.7g)\r\n", kCalls[i].input, kCalls[i].output,
             kCalls[i].output * 0.00799060519784689);
    }
  }
  printf(">>> ");
  Type("gc.mem_free()");
  printf("58704\r\n>>> ");
  fflush(stdout);
  return 0;
}
