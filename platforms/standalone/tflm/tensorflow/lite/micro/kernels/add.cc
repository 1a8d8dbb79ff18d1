#include "tensorflow/lite/micro/kernels/elementwise.h"
#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

// Inputs are scaled up by this many bits before they are brought to a common scale.
constexpr int kHeadroomBits = 20;

struct AddData {
  PairData pair;
  QuantizedMultiplier scale1;
  QuantizedMultiplier scale2;
  QuantizedMultiplier output_scale;
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<AddData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  const auto* options = static_cast<const TfLiteAddParams*>(node->builtin_data);
  PairScales scales;
  TF_LITE_ENSURE_STATUS(PreparePair(context, node, options->activation, &data->pair, &scales));
  if (scales.quantized) {
    const double common = 2 * (scales.input1 > scales.input2 ? scales.input1 : scales.input2);
    data->scale1 = Quantize(scales.input1 / common);
    data->scale2 = Quantize(scales.input2 / common);
    data->output_scale = Quantize(common / ((1 << kHeadroomBits) * scales.output));
  }
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const AddData*>(node->user_data);
  const auto* options = static_cast<const TfLiteAddParams*>(node->builtin_data);
  return InvokePair(
      context, node, options->activation, data.pair, [](float a, float b) { return a + b; },
      [&data](int32_t a, int32_t b) {
        const int32_t sum = Multiply(a * (1 << kHeadroomBits), data.scale1) +
                            Multiply(b * (1 << kHeadroomBits), data.scale2);
        return Multiply(sum, data.output_scale);
      });
}

}  // namespace

TFLMRegistration Register_ADD() { return micro::RegisterOp<AddData>(Prepare, Invoke); }

}  // namespace tflite
