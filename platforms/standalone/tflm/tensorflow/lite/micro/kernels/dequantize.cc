#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<TfLiteQuantizationParams*>(node->user_data);
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(micro::GetEnds(context, node, kTfLiteInt8, kTfLiteFloat32, &ends));
  const auto [input, output] = ends;
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

TFLMRegistration Register_DEQUANTIZE() {
  return micro::RegisterOp<TfLiteQuantizationParams>(Prepare, Invoke);
}

}  // namespace tflite
