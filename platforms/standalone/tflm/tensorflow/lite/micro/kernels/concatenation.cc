#include <cstring>

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/memory_helpers.h"

namespace tflite {
namespace {

// Negative axes count from the last dimension.
int Axis(const TfLiteNode* node, const TfLiteEvalTensor* output) {
  const auto* options = static_cast<const TfLiteConcatenationParams*>(node->builtin_data);
  return options->axis < 0 ? options->axis + output->dims->size : options->axis;
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  const auto* options = static_cast<const TfLiteConcatenationParams*>(node->builtin_data);
  TF_LITE_ENSURE_EQ(context, options->activation, kTfLiteActNone);
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, output != nullptr);
  for (int n = 0; n < node->inputs->size; ++n) {
    const TfLiteTensor* input = micro_context->AllocateTempInputTensor(node, n);
    TF_LITE_ENSURE(context, input != nullptr);
    TF_LITE_ENSURE_TYPES_EQ(context, input->type, output->type);
    TF_LITE_ENSURE_EQ(context, input->dims->size, output->dims->size);
    if (input->type == kTfLiteInt8) {
      // Elements are copied as they are, so all must have one quantization.
      TF_LITE_ENSURE_EQ(context, input->params.zero_point, output->params.zero_point);
      TF_LITE_ENSURE(context, input->params.scale == output->params.scale);
    }
  }
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  const int axis = Axis(node, output);
  int outer = 1;
  for (int n = 0; n < axis; ++n) {
    outer *= output->dims->data[n];
  }
  // Each input brings one stretch of memory to every step of the outer dimensions.
  char* to = output->data.raw;
  for (int step = 0; step < outer; ++step) {
    for (int n = 0; n < node->inputs->size; ++n) {
      const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, n);
      const size_t stretch = TfLiteEvalTensorByteLength(input) / static_cast<size_t>(outer);
      std::memcpy(to, input->data.raw + static_cast<size_t>(step) * stretch, stretch);
      to += stretch;
    }
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_CONCATENATION() { return micro::RegisterOp(nullptr, Prepare, Invoke); }

}  // namespace tflite
