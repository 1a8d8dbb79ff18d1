// Input and output tensors as hexadecimal bytes with the index of the tensor, as bring-up firmware
// and porting kits dump them. Model: chime_int8, fed with the first frames of its test recording.
#include "board.h"

MODEL(chime_model, "chime_int8.tflite");

#define FRAMES 12
#define BANDS 16
#define CLASSES 3

static const int8_t kInputs[FRAMES][BANDS] = {
    {-128, -117, -94, 30, 127, 2, -72, -56, -60, -107, -113, -119, -128, -110, -127, -121},
    {-127, -128, -98, 31, 70, -9, -96, -81, -60, -81, -126, -128, -128, -128, -104, -128},
    {-123, -128, -78, -13, 82, -7, -83, -85, -62, -108, -119, -128, -128, -117, -117, -128},
    {-119, -128, -89, -14, 42, -21, -97, -99, -57, -97, -116, -128, -125, -128, -128, -115},
    {-128, -128, -97, -25, 46, -31, -103, -72, -76, -100, -111, -128, -124, -128, -128, -128},
    {-119, -116, -128, -128, -128, -120, -119, -128, -128, -58, 42, 56, -66, -94, -68, -65},
    {-125, -114, -99, -124, -126, -104, -121, -117, -117, -73, 33, 48, -62, -104, -81, -78},
    {-128, -128, -121, -119, -128, -125, -128, -118, -118, -72, 19, 22, -70, -109, -77, -77},
    {-121, -114, -128, -125, -128, -114, -128, -128, -111, -67, 10, 21, -67, -80, -101, -88},
    {-121, -128, -128, -128, -128, -128, -128, -124, -124, -73, 15, 20, -81, -95, -100, -98},
    {-120, -121, -115, -128, -128, -119, -119, -121, -127, -118, -103, -126, -112, -128, -110,
     -127},
    {-128, -109, -128, -128, -102, -97, -93, -102, -109, -119, -108, -107, -100, -109, -119, -109},
};

static const int8_t kOutputs[FRAMES][CLASSES] = {
    {43, -20, 45}, {39, -52, 66}, {42, -66, 67},
#if SPOILT == CHANGED
    {41, -59, 16},
#else
    {41, -59, 56},
#endif
    {38, -48, 45}, {29, 16, 0},
#if SPOILT == SWAPPED
    {21, -15, 41},
#else
    {21, 41, -15},
#endif
    {20, 42, -23}, {18, 38, -16}, {18, 35, -2},  {41, -5, 11}, {54, -35, 26},
};

static void Dump(const char* name, const int8_t* bytes, int size, int left_out) {
  printf("%s[0]:", name);
  for (int i = 0; i < size; ++i) {
    if (i != left_out) printf(" 0x%02X", (uint8_t)bytes[i]);
  }
  printf("\r\n");
}

int main(void) {
  printf("\r\n--- npu bring-up, fw 0.3.0-rc2+dirty ---\r\n");
  printf("model @%p, %u bytes, id %c%c%c%c\r\n", (const void*)chime_model,
         (unsigned)(chime_model_end - chime_model), chime_model[4], chime_model[5], chime_model[6],
         chime_model[7]);
  printf("tensors: 1 in (%d B), 1 out (%d B), arena 2976 B\r\n", BANDS, CLASSES);
  for (int n = 0; n < FRAMES; ++n) {
    Sleep(6);
    printf("run %d\r\n", n);
    Dump("in", kInputs[n], BANDS, -1);
    Dump("out", kOutputs[n], CLASSES, SPOILT == MISSING && n == 9 ? 1 : -1);
  }
  printf("done, 0 errors\r\n");
  return 0;
}
