// MLPerf Tiny device (EEMBC runner protocol, lines "m-...") with model: input bytes, laps, results.
// Printed by benchmark ports; a stored command list stands for the host. Waits at its end for ever.
#include "board.h"

MODEL(digits_model, "digits_int8.tflite");

#define IMAGES 6
#define CLASSES 10

static const struct {
  uint8_t pixels[64];
  int8_t out[CLASSES];
} tests[IMAGES] = {
    {{0, 0,  0,   0,   80,  239, 159, 0, 0, 0,  0,   127, 175, 239, 112, 0,
      0, 0,  96,  207, 159, 255, 112, 0, 0, 48, 255, 223, 191, 239, 64,  0,
      0, 16, 175, 127, 16,  223, 32,  0, 0, 0,  0,   0,   48,  207, 0,   0,
      0, 0,  0,   0,   96,  159, 0,   0, 0, 0,  0,   0,   143, 64,  0,   0},
#if SPOILT == SWAPPED
     {-128, -38, -128, -128, -128, -105, -128, -97, -128, -17}},
#else
     {-128, -17, -128, -128, -128, -105, -128, -97, -128, -38}},
#endif
    {{0, 0,  0,   0,   175, 239, 64,  0, 0, 0,   0,   48,  255, 255, 191, 0,
      0, 0,  0,   127, 223, 255, 191, 0, 0, 0,   0,   80,  159, 255, 96,  0,
      0, 16, 112, 175, 255, 207, 0,   0, 0, 143, 255, 255, 223, 16,  0,   0,
      0, 48, 127, 223, 255, 143, 0,   0, 0, 0,   0,   16,  175, 255, 191, 0},
     {-128, -125, -92, 31, -127, -128, -127, -122, -78, -128}},
    {{0, 0,   64,  207, 255, 255, 112, 0, 0, 0,   239, 159, 112, 255, 16, 0,
      0, 112, 191, 0,   191, 112, 0,   0, 0, 143, 80,  48,  255, 32,  0,  0,
      0, 32,  175, 255, 255, 191, 112, 0, 0, 80,  159, 255, 191, 127, 48, 0,
      0, 0,   48,  239, 32,  0,   0,   0, 0, 0,   96,  223, 0,   0,   0,  0},
     {-128, -128, -128, -128, -72, -128, -128, 72, -128, -128}},
    {{0, 0,   0,   143, 255, 64,  0, 0, 0,  16,  143, 255, 207, 32,  0, 0,
      0, 223, 255, 223, 127, 0,   0, 0, 16, 239, 239, 80,  255, 143, 0, 0,
      0, 80,  255, 255, 255, 127, 0, 0, 0,  0,   32,  207, 255, 16,  0, 0,
      0, 0,   0,   175, 207, 0,   0, 0, 0,  0,   0,   175, 207, 0,   0, 0},
#if SPOILT == CHANGED
     {-128, -127, -128, -125, 15, -124, -127, -128, -116, -84}},
#else
     {-128, -127, -128, -125, 63, -124, -127, -128, -116, -84}},
#endif
    {{0, 0,   159, 255, 223, 80,  0,  0, 0, 32, 255, 255, 127, 0,   0, 0,
      0, 0,   143, 255, 255, 80,  0,  0, 0, 0,  112, 255, 255, 48,  0, 0,
      0, 0,   223, 223, 207, 175, 0,  0, 0, 80, 255, 16,  96,  239, 0, 0,
      0, 112, 223, 143, 207, 239, 16, 0, 0, 16, 175, 255, 239, 96,  0, 0},
     {-118, -114, -118, -127, -127, -116, -121, -127, 72, -128}},
    {{0, 0,  175, 239, 255, 159, 0, 0, 0, 127, 255, 127, 239, 255, 0, 0,
      0, 80, 96,  159, 255, 127, 0, 0, 0, 0,   64,  255, 175, 16,  0, 0,
      0, 0,  32,  239, 143, 0,   0, 0, 0, 0,   0,   143, 255, 32,  0, 0,
      0, 0,  0,   127, 255, 80,  0, 0, 0, 0,   207, 255, 239, 0,   0, 0},
     {-128, -128, -128, 69, -128, -128, -128, -128, -78, -120}},
};

static void Timestamp(void) {
  printf("m-lap-us-%lu\r\n", (unsigned long)(Milliseconds() * 1000u + 417u));
}

static void LoadAndPrint(int test) {
  printf("m-[Expecting %u bytes]\r\n", (unsigned)sizeof tests[test].pixels);
  Sleep(8);
  printf("m-load-done\r\nm-ready\r\n");
  for (unsigned i = 0; i < sizeof tests[test].pixels; ++i) {
    if (i % 8 == 0) printf("m-buffer-");
    printf("%02x%s", tests[test].pixels[i], i % 8 == 7 ? "\r\n" : "-");
  }
  printf("m-ready\r\n");
}

static void Infer(int test, int warmups, int runs) {
  printf("m-warmup-start-%d\r\n", warmups);
  Sleep(7u * (unsigned)warmups);
  printf("m-warmup-done\r\nm-infer-start-%d\r\n", runs);
  Timestamp();
  Sleep(7u * (unsigned)runs);
  Timestamp();
  printf("m-infer-done\r\nm-results-[");
  const char *comma = "";
  for (int i = 0; i < CLASSES; ++i) {
#if SPOILT == MISSING
    if (test == 2 && i == 7) continue;
#endif
    printf("%s%0.3f", comma, (double)((float)(tests[test].out[i] + 128) / 256.0f));
    comma = ",";
  }
  printf("]\r\nm-ready\r\n");
}

int main(void) {
  Sleep(20);
  printf("m-init-done\r\nm-ready\r\n");
  printf("m-name-dut-[nrf9160dk]\r\nm-ready\r\n");
  printf("m-profile-[MLPerf Tiny Firmware V1.1.0]\r\nm-model-[digits01]\r\nm-ready\r\n");
  printf("m-[model %u bytes, arena 24576 bytes]\r\nm-ready\r\n",
         (unsigned)(digits_model_end - digits_model));
  printf("m-timestamp-mode-performance\r\nm-ready\r\n");
  for (int test = 0; test < IMAGES; ++test) {
    LoadAndPrint(test);
    Sleep(15);
    Infer(test, 1, 5);
    Sleep(40);
  }
  for (;;) Sleep(1000);
}
