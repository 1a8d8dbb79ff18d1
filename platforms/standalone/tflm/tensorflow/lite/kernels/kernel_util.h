#ifndef TFLM_HIL_STANDALONE_KERNELS_KERNEL_UTIL_H_
#define TFLM_HIL_STANDALONE_KERNELS_KERNEL_UTIL_H_

#include <cstdint>

#include "tensorflow/lite/c/common.h"

namespace tflite {

// Elements of a tensor; 1 for a scalar.
inline int64_t NumElements(const TfLiteTensor* tensor) {
  int64_t elements = 1;
  for (int axis = 0; axis < tensor->dims->size; ++axis) elements *= tensor->dims->data[axis];
  return elements;
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_KERNELS_KERNEL_UTIL_H_
