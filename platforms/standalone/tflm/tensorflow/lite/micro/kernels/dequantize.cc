#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

void* Init(TfLiteContext* context, const char*, size_t) {
  return context->AllocatePersistentBuffer(context, sizeof(TfLiteQuantizationParams));
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<TfLiteQuantizationParams*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* input = micro_context->AllocateTempInputTensor(node, 0);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, input != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, kTfLiteInt8);
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteFloat32);
  *data = input->params;
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const TfLiteQuantizationParams*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  const auto* from = micro::GetTensorData<int8_t>(input);
  auto* to = micro::GetTensorData<float>(micro::GetEvalOutput(context, node, 0));
  for (int left = micro::GetTensorShape(input).FlatSize(); left > 0; --left) {
    *to++ = data.scale * static_cast<float>(*from++ - data.zero_point);
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_DEQUANTIZE() { return micro::RegisterOp(Init, Prepare, Invoke); }

}  // namespace tflite
