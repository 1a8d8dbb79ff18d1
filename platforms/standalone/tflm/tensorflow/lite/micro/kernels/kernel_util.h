#ifndef TFLM_HIL_STANDALONE_MICRO_KERNEL_UTIL_H_
#define TFLM_HIL_STANDALONE_MICRO_KERNEL_UTIL_H_

#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/kernels/internal/runtime_shape.h"
#include "tensorflow/lite/kernels/internal/tensor_ctypes.h"
#include "tensorflow/lite/micro/micro_common.h"
#include "tensorflow/lite/micro/micro_context.h"

namespace tflite {
namespace micro {

// A registration from its functions; the resolver fills in code and name.
TFLMRegistration RegisterOp(void* (*init)(TfLiteContext* context, const char* buffer,
                                          size_t length),
                            TfLiteStatus (*prepare)(TfLiteContext* context, TfLiteNode* node),
                            TfLiteStatus (*invoke)(TfLiteContext* context, TfLiteNode* node),
                            void (*free)(TfLiteContext* context, void* buffer) = nullptr,
                            void (*reset)(TfLiteContext* context, void* buffer) = nullptr);

// Null for an optional input that is left out.
const TfLiteEvalTensor* GetEvalInput(const TfLiteContext* context, const TfLiteNode* node,
                                     int index);
TfLiteEvalTensor* GetEvalOutput(const TfLiteContext* context, const TfLiteNode* node, int index);

template <typename T>
T* GetTensorData(TfLiteEvalTensor* tensor) {
  return static_cast<T*>(tensor->data.data);
}

template <typename T>
const T* GetTensorData(const TfLiteEvalTensor* tensor) {
  return static_cast<const T*>(tensor->data.data);
}

template <typename T>
const T* GetOptionalTensorData(const TfLiteEvalTensor* tensor) {
  return tensor == nullptr ? nullptr : static_cast<const T*>(tensor->data.data);
}

RuntimeShape GetTensorShape(const TfLiteEvalTensor* tensor);

}  // namespace micro
}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_KERNEL_UTIL_H_
