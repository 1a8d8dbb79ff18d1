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

// The same for a kernel that keeps one Data a node, which its Prepare fills in.
template <typename Data>
TFLMRegistration RegisterOp(TfLiteStatus (*prepare)(TfLiteContext* context, TfLiteNode* node),
                            TfLiteStatus (*invoke)(TfLiteContext* context, TfLiteNode* node)) {
  auto* init = +[](TfLiteContext* context, const char*, size_t) {
    return context->AllocatePersistentBuffer(context, sizeof(Data));
  };
  return RegisterOp(init, prepare, invoke);
}

// The first input and the first output of a node, for the time of its Prepare. What the node keeps
// is there, too, where this succeeds.
struct Ends {
  const TfLiteTensor* input;
  const TfLiteTensor* output;
};
TfLiteStatus GetEnds(TfLiteContext* context, const TfLiteNode* node, Ends* ends);
// The same for a kernel that knows one type of each.
TfLiteStatus GetEnds(TfLiteContext* context, const TfLiteNode* node, TfLiteType input_type,
                     TfLiteType output_type, Ends* ends);

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
