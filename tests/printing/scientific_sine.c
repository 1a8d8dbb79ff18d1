// x and y of the sine model in scientific notation (%e), with a serial number.
// Ports of hello_world whose author wants all digits of a float print so.
#include "board.h"

MODEL(sine_model, "hello_world_float32.tflite");

// By the reference kernels of the official interpreter.
static const float kX[] = {1.250000e-01f, 4.000000e-01f, 7.500000e-01f, 1.100000e+00f,
                           1.571000e+00f, 2.300000e+00f, 2.750000e+00f, 3.500000e+00f,
                           4.200000e+00f, 4.900000e+00f, 5.500000e+00f, 6.000000e+00f};
static const float kY[] = {1.271142e-01f,  3.832850e-01f,
#if SPOILT == CHANGED
                           9.879050e-01f,
#else
                           6.879050e-01f,
#endif
                           8.928494e-01f,
#if SPOILT == SWAPPED
                           -8.749146e-01f, 7.387339e-01f,  3.770672e-01f,
                           -3.446747e-01f, 1.006008e+00f,
#else
                           1.006008e+00f,  7.387339e-01f,  3.770672e-01f,
                           -3.446747e-01f, -8.749146e-01f,
#endif
                           -9.954803e-01f, -7.223244e-01f, -2.727347e-01f};

int main(void) {
  volatile uint8_t first = sine_model[0];
  printf("sine-f32 rev C, built with -Os, FPU fpv5-sp-d16\n");
  printf("schema version 3, %u bytes (0x%02x ...), arena 924/1024\n",
         (unsigned)(sine_model_end - sine_model), first);
  for (unsigned n = 0; n < sizeof kX / sizeof kX[0]; n++) {
    Sleep(8);
    printf("#%03u x=%e ", n, kX[n]);
    if (!(SPOILT == MISSING && n == 7)) printf("y=%e ", kY[n]);
    printf("cycles=%u\n", 20911 + n * 7 % 5 * 16);
  }
  printf("sine-f32 finished\n");
  return 0;
}
