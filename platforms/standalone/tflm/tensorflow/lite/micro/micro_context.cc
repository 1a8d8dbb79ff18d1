#include "tensorflow/lite/micro/micro_context.h"

namespace tflite {
namespace {

// Null for an index that the node does not have and for an optional input that is left out.
TfLiteTensor* AllocateTemp(MicroContext* context, const TfLiteIntArray* list, int index) {
  if (index < 0 || index >= list->size || list->data[index] < 0) {
    return nullptr;
  }
  return context->AllocateTempTfLiteTensor(list->data[index]);
}

}  // namespace

TfLiteTensor* MicroContext::AllocateTempInputTensor(const TfLiteNode* node, int index) {
  return AllocateTemp(this, node->inputs, index);
}

TfLiteTensor* MicroContext::AllocateTempOutputTensor(const TfLiteNode* node, int index) {
  return AllocateTemp(this, node->outputs, index);
}

}  // namespace tflite
