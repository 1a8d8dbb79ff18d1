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

TfLiteStatus GetEnds(TfLiteContext* context, const TfLiteNode* node, Ends* ends) {
  TF_LITE_ENSURE(context, node->user_data != nullptr);
  MicroContext* micro_context = GetMicroContext(context);
  ends->input = micro_context->AllocateTempInputTensor(node, 0);
  ends->output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, ends->input != nullptr && ends->output != nullptr);
  return kTfLiteOk;
}

TfLiteStatus GetEnds(TfLiteContext* context, const TfLiteNode* node, TfLiteType input_type,
                     TfLiteType output_type, Ends* ends) {
  TF_LITE_ENSURE_STATUS(GetEnds(context, node, ends));
  TF_LITE_ENSURE_TYPES_EQ(context, ends->input->type, input_type);
  TF_LITE_ENSURE_TYPES_EQ(context, ends->output->type, output_type);
  return kTfLiteOk;
}

const TfLiteEvalTensor* GetEvalInput(const TfLiteContext* context, const TfLiteNode* node,
                                     int index) {
  const TfLiteIntArray& inputs = *node->inputs;
  const int tensor = index < inputs.size ? inputs.data[index] : kTfLiteOptionalTensor;
  return tensor == kTfLiteOptionalTensor ? nullptr : context->GetEvalTensor(context, tensor);
}

TfLiteEvalTensor* GetEvalOutput(const TfLiteContext* context, const TfLiteNode* node, int index) {
  const int tensor = node->outputs->data[index];
  return context->GetEvalTensor(context, tensor);
}

RuntimeShape GetTensorShape(const TfLiteEvalTensor* tensor) {
  return tensor == nullptr || tensor->dims == nullptr
             ? RuntimeShape()
             : RuntimeShape(tensor->dims->size, tensor->dims->data);
}

}  // namespace micro
}  // namespace tflite
