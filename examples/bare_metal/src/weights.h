// The numbers of model.tflite: one FULLY_CONNECTED, int8. test_firmware.py holds what the firmware
// computes with them against the model itself, to the bit.
#ifndef WEIGHTS_H_
#define WEIGHTS_H_
#include <stdint.h>

#define INPUTS 4
#define OUTPUTS 3

static const int8_t kWeights[OUTPUTS][INPUTS] = {
    {89, 25, 37, 80},
    {16, 55, 67, -55},
    {-89, -40, -43, 75},
};
static const int32_t kBias[OUTPUTS] = {64, -128, 32};

// input scale 1/16 * weight scale 1/64 / output scale 1/4 = 2^-8 = 0.5 * 2^-7
#define MULTIPLIER (1 << 30)
#define RIGHT_SHIFT 7
#define OUTPUT_ZERO_POINT (-10)

#endif  // WEIGHTS_H_
