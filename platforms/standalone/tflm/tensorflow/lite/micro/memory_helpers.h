#ifndef TFLM_HIL_STANDALONE_MEMORY_HELPERS_H_
#define TFLM_HIL_STANDALONE_MEMORY_HELPERS_H_

#include <cstddef>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/micro_utils.h"

namespace tflite {

// Bytes of one element; an error for types without a fixed size.
TfLiteStatus TfLiteTypeSizeOf(TfLiteType type, size_t* size);

// Bytes of the whole tensor; 0 for types without a fixed size.
size_t TfLiteEvalTensorByteLength(const TfLiteEvalTensor* eval_tensor);
TfLiteStatus TfLiteEvalTensorByteLength(const TfLiteEvalTensor* eval_tensor, size_t* out_bytes);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MEMORY_HELPERS_H_
