#include "tensorflow/lite/micro/kernels/elementwise.h"
#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

struct MulData {
  PairData pair;
  QuantizedMultiplier scale;
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<MulData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  const auto* options = static_cast<const TfLiteMulParams*>(node->builtin_data);
  PairScales scales;
  TF_LITE_ENSURE_STATUS(PreparePair(context, node, options->activation, &data->pair, &scales));
  if (scales.quantized) {
    data->scale = Quantize(scales.input1 * scales.input2 / scales.output);
  }
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const MulData*>(node->user_data);
  const auto* options = static_cast<const TfLiteMulParams*>(node->builtin_data);
  return InvokePair(
      context, node, options->activation, data.pair, [](float a, float b) { return a * b; },
      [&data](int32_t a, int32_t b) { return Multiply(a * b, data.scale); });
}

}  // namespace

TFLMRegistration Register_MUL() { return micro::RegisterOp<MulData>(Prepare, Invoke); }

}  // namespace tflite
