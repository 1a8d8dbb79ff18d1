// Says which digit a network sees.
#ifndef HIL_DIGITS_H_
#define HIL_DIGITS_H_

#include <cstdint>

#include "tensorflow/lite/micro/micro_interpreter.h"

namespace hil {

// Prints the class with the largest of the first output's scores (int8 or float32, one a class).
void DescribeDigit(uint32_t inference, tflite::MicroInterpreter& interpreter);

}  // namespace hil

#endif  // HIL_DIGITS_H_
