// x and y as mantissa times power of two (`1.2566370*2^-2`), for ever, as the first hello_world of
// TensorFlow Lite for Microcontrollers printed before it had %f. Model: hello_world_float32.
#include <string.h>

#include "board.h"

MODEL(hello_model, "hello_world_float32.tflite");

#define PERIOD 20

static const float kX[PERIOD] = {
    0.0f,       0.314159274f, 0.628318548f, 0.942477822f, 1.2566371f,  1.57079637f, 1.88495564f,
    2.1991148f, 2.51327419f,  2.82743359f,  3.14159274f,  3.4557519f,  3.76991129f, 4.08407068f,
    4.3982296f, 4.71238899f,  5.02654839f,  5.34070778f,  5.65486717f, 5.96902609f,
};

static const float kY[PERIOD] = {
    0.0106732249f, 0.303321898f,   0.595970213f,
#if SPOILT == SWAPPED
    -0.601384938f,
#else
    0.800611198f,
#endif
    0.953465223f,  1.00597394f,    0.944794178f,  0.805017352f,  0.598609447f,
    0.30255127f,   0.00022880733f, -0.302093804f,
#if SPOILT == SWAPPED
    0.800611198f,
#else
    -0.601384938f,
#endif
    -0.80118531f,
#if SPOILT == CHANGED
    -0.549230814f,
#else
    -0.94923079f,
#endif
    -1.00284696f,  -0.943049014f,  -0.812886477f, -0.583070993f, -0.300585926f,
};

// A float as text, mantissa times power of two, with no more digits than needed.
static const char* Text(float value, char* text) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int exponent = (int)(bits >> 23 & 255) - 127;
  const uint32_t digits = (uint32_t)((uint64_t)(bits & 0x7fffff) * 10000000 >> 23);
  int length = sprintf(text, "%s1.%07lu", bits >> 31 ? "-" : "", digits);
  while (text[length - 1] == '0' && text[length - 2] != '.') --length;
  sprintf(text + length, "*2^%d", exponent);
  return text;
}

int main(void) {
  volatile uint8_t first = hello_model[0];
  (void)first;
  char x[32], y[32];
  for (uint32_t n = 0;; ++n) {
    const int row = n % PERIOD;
    if (SPOILT != MISSING || row != 11) {
      printf("x_value: %s, y_value: %s\n\n", Text(kX[row], x), Text(kY[row], y));
    }
    Sleep(5);
  }
}
