// Image classifier with model: the image, then for each class id its logit and its softmax, a class
// a line. Printed during bring-up, to compare with the training script. Ends.
#include "board.h"

MODEL(residual_model, "residual_int8.tflite");

#define CLASSES 10
#define FRAMES 6

static const struct {
  int8_t image[64], out[CLASSES];
  unsigned ms, exposure;
} frames[FRAMES] = {
    {{-128, -128, -48,  47,   127, 127, -1,   -128, -128, -128, 111,  95,   -1, 63,  111,  -128,
      -128, -128, -128, -128, -96, 95,  15,   -128, -128, -128, -128, -128, 47, 63,  -112, -128,
      -128, -128, -128, -112, 127, -48, -128, -128, -128, -128, -128, -112, 95, 15,  -128, -128,
      -128, -128, -112, -64,  111, 15,  -128, -128, -128, -128, -16,  127,  47, -96, -128, -128},
#if SPOILT == SWAPPED
     {-56, 20, -11, -11, -66, -69, -71, -19, -39, -56},
     31,
     412},
#else
     {-56, -11, -11, 20, -66, -69, -71, -19, -39, -56},
     31,
     412},
#endif
    {{-128, -128, -96, 95,   -112, -128, -128, -128, -128, -128, -1,  63,   -128, -128, -128, -128,
      -128, -128, 63,  -48,  -128, -128, -128, -128, -128, -96,  95,  -128, -128, -128, -128, -128,
      -128, -128, 31,  -128, -32,  -16,  -96,  -128, -128, -64,  63,  79,   111,  95,   63,   -128,
      -128, -128, 79,  63,   -96,  47,   95,   -128, -128, -128, -80, 79,   127,  79,   -112, -128},
     {0, -29, -67, -77, -47, -42, 51, -82, -44, -75},
     31,
     409},
    {{-128, -128, -128, -112, 15,  47,   -128, -128, -128, -128, -128, 79,   127, 127,  -128, -128,
      -128, -128, -128, 63,   -16, 95,   -128, -128, -128, -128, -128, -128, 95,  -16,  -128, -128,
      -128, -128, -48,  63,   63,  -128, -128, -128, -128, -16,  127,  127,  -32, -128, -128, -128,
      -128, -64,  15,   79,   127, 47,   -64,  -128, -128, -128, -128, -128, 15,  79,   -80,  -128},
     {-64, -31, 51, -7, -35, -93, -86, -86, -22, -42},
     32,
     411},
    {{-128, -128, -32, 95, 127, 111,  -112, -128, -128, 15,   127,  63,  15,   127,  -80,  -128,
      -128, 63,   127, 47, 95,  79,   -128, -128, -128, -16,  111,  127, 95,   -128, -128, -128,
      -128, -128, -96, -1, 127, -48,  -128, -128, -128, -128, -128, -32, 127,  -64,  -128, -128,
      -128, -128, -96, 79, 63,  -128, -128, -128, -128, -128, 15,   127, -112, -128, -128, -128},
#if SPOILT == CHANGED
     {-76, -90, -72, -30, 5, -10, -68, -80, -45, 40},
     31,
     398},
#else
     {-76, -90, -72, -30, 5, -10, -68, -80, -45, 70},
     31,
     398},
#endif
    {{-128, -128, -96,  31,   31,   63,   111,  31,   -128, -128, 15,   127,  63,
      -1,   111,  -32,  -128, -128, 79,   15,   -128, -64,  63,   -112, -128, -112,
      127,  -80,  -112, 79,   -96,  -128, -128, -128, -48,  -128, 15,   -16,  -128,
      -128, -128, -128, -128, -80,  79,   -112, -128, -128, -128, -128, -128, 63,
      -16,  -128, -128, -128, -128, -128, -128, 95,   -96,  -128, -128, -128},
     {-5, -40, -44, -36, -64, -9, -73, 68, -36, -38},
     31,
     402},
    {{-128, -128, -48, 63,   -112, -32, -128, -128, -128, -128, 47,  63,   -128, 127, -96,  -128,
      -128, -128, 127, -48,  -128, 63,  -64,  -128, -128, -80,  111, -128, -128, -1,  -64,  -128,
      -128, -16,  63,  -128, -128, -64, -16,  -128, -128, -96,  111, -112, -112, 63,  -48,  -128,
      -128, -128, 127, 47,   63,   111, -80,  -128, -128, -128, -64, 63,   63,   -80, -128, -128},
     {49, -16, -50, -79, -48, -42, -23, -34, -76, -51},
     31,
     407},
};

static const char *const names[CLASSES] = {"zero", "one", "two",   "three", "four",
                                           "five", "six", "seven", "eight", "nine"};

// e^x for x <= 0, good to about six digits.
static float Exp(float x) {
  float y = 1.0f, term = 1.0f;
  int halvings = 0;
  while (x < -0.5f) {
    x *= 0.5f;
    ++halvings;
  }
  for (int i = 1; i < 9; ++i) {
    term *= x / (float)i;
    y += term;
  }
  while (halvings--) y *= y;
  return y;
}

static void Classify(int n) {
  float logit[CLASSES], p[CLASSES], sum = 0;
  int best = 0;
  for (int i = 0; i < CLASSES; ++i) {
    logit[i] = (float)(frames[n].out[i] + 23) * 0.092774667f;
    if (logit[i] > logit[best]) best = i;
  }
  for (int i = 0; i < CLASSES; ++i) sum += p[i] = Exp(logit[i] - logit[best]);
  for (int i = 0; i < CLASSES; ++i) {
#if SPOILT == MISSING
    if (n == 4 && i == 5) continue;
#endif
    printf("   class %d (%s): logit %.4f, softmax %.5f\n", i, names[i], (double)logit[i],
           (double)(p[i] / sum));
  }
  printf("   ==> %s, %u ms\n\n", names[best], frames[n].ms);
}

int main(void) {
  printf("\n-- digit reader, fw 0.3.0-rc2 (git 77be01d, Debug) --\n");
  printf("camera HM01B0 found at 0x24, 324x244 binned to 8x8\n");
  printf("model residual_int8 %u bytes crc ok, arena 14.2 KiB of 20.0 KiB\n\n",
         (unsigned)(residual_model_end - residual_model));
  for (int n = 0; n < FRAMES; ++n) {
    printf("Frame %d @ %lu ms, exposure %u\n", n, (unsigned long)Milliseconds(),
           frames[n].exposure);
    for (int i = 0; i < 64; ++i) {
      printf("%s%4d%s", i % 8 ? " " : "   ", frames[n].image[i], i % 8 == 7 ? "\n" : "");
    }
    Sleep(frames[n].ms);
    Classify(n);
    Sleep(120);
  }
  printf("%d frames, camera off\n", FRAMES);
  return 0;
}
