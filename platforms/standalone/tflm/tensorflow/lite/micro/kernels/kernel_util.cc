#include "tensorflow/lite/micro/kernels/kernel_util.h"

#include "tensorflow/lite/micro/micro_utils.h"

namespace tflite {

int ElementCount(const TfLiteIntArray& dims) {
  int count = 1;
  for (int n = 0; n < dims.size; ++n) {
    count *= dims.data[n];
  }
  return count;
}

namespace micro {

TFLMRegistration RegisterOp(void* (*init)(TfLiteContext* context, const char* buffer,
                                          size_t length),
                            TfLiteStatus (*prepare)(TfLiteContext* context, TfLiteNode* node),
                            TfLiteStatus (*invoke)(TfLiteContext* context, TfLiteNode* node),
                            void (*free)(TfLiteContext* context, void* buffer),
                            void (*reset)(TfLiteContext* context, void* buffer)) {
  return {init, free, prepare, invoke, reset, 0, nullptr};
}

TfLiteEvalTensor* GetMutableEvalInput(const TfLiteContext* context, const TfLiteNode* node,
                                      int index) {
  if (index >= node->inputs->size || node->inputs->data[index] < 0) {
    return nullptr;
  }
  return context->GetEvalTensor(context, node->inputs->data[index]);
}

const TfLiteEvalTensor* GetEvalInput(const TfLiteContext* context, const TfLiteNode* node,
                                     int index) {
  return GetMutableEvalInput(context, node, index);
}

TfLiteEvalTensor* GetEvalOutput(const TfLiteContext* context, const TfLiteNode* node, int index) {
  return context->GetEvalTensor(context, node->outputs->data[index]);
}

RuntimeShape GetTensorShape(const TfLiteEvalTensor* tensor) {
  return tensor == nullptr || tensor->dims == nullptr
             ? RuntimeShape()
             : RuntimeShape(tensor->dims->size, tensor->dims->data);
}

bool HaveSameShapes(const TfLiteEvalTensor* input1, const TfLiteEvalTensor* input2) {
  return GetTensorShape(input1) == GetTensorShape(input2);
}

}  // namespace micro
}  // namespace tflite
