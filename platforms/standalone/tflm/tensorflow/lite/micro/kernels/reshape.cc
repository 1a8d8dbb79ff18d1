#include <cstring>

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/memory_helpers.h"

namespace tflite {
namespace {

// The output's shape stands in the model; what is asked for in the options or the second input has
// been carried out by the converter.
TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  const TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, output->type);
  TF_LITE_ENSURE_EQ(context, ElementCount(*input->dims), ElementCount(*output->dims));
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  if (input->data.raw != output->data.raw) {
    std::memcpy(output->data.raw, input->data.raw, TfLiteEvalTensorByteLength(input));
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_RESHAPE() { return micro::RegisterOp(nullptr, Prepare, Invoke); }

}  // namespace tflite
