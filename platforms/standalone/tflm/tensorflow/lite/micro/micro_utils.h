#ifndef TFLM_HIL_STANDALONE_MICRO_UTILS_H_
#define TFLM_HIL_STANDALONE_MICRO_UTILS_H_

#include "tensorflow/lite/c/common.h"

namespace tflite {

// Product of the dimensions; 1 for a scalar.
int ElementCount(const TfLiteIntArray& dims);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_UTILS_H_
