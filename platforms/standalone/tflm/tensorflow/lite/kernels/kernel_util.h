#ifndef TFLM_HIL_STANDALONE_KERNELS_KERNEL_UTIL_H_
#define TFLM_HIL_STANDALONE_KERNELS_KERNEL_UTIL_H_

#include <cstdint>

#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/c/common.h"

namespace tflite {

inline int NumInputs(const TfLiteNode* node) {
  return node->inputs == nullptr ? 0 : node->inputs->size;
}
inline int NumOutputs(const TfLiteNode* node) {
  return node->outputs == nullptr ? 0 : node->outputs->size;
}
inline int NumDimensions(const TfLiteTensor* t) { return t->dims->size; }
inline int SizeOfDimension(const TfLiteTensor* t, int dim) { return t->dims->data[dim]; }
inline bool IsConstantTensor(const TfLiteTensor* t) { return t->allocation_type == kTfLiteMmapRo; }

inline int64_t NumElements(const TfLiteTensor* t) {
  int64_t count = 1;
  for (int n = 0; n < t->dims->size; ++n) {
    count *= t->dims->data[n];
  }
  return count;
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_KERNELS_KERNEL_UTIL_H_
