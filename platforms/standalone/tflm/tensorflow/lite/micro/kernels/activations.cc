#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

struct ReluData {
  int32_t input_zero_point;
  int32_t output_zero_point;
  QuantizedMultiplier rescale;
  ActivationRange activation;
};

TfLiteStatus GetEndsOfOneType(TfLiteContext* context, const TfLiteNode* node, micro::Ends* ends) {
  TF_LITE_ENSURE_STATUS(micro::GetEnds(context, node, ends));
  const auto [input, output] = *ends;
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, output->type);
  TF_LITE_ENSURE(context, input->type == kTfLiteInt8 || input->type == kTfLiteFloat32);
  return kTfLiteOk;
}

TfLiteStatus PrepareRelu(TfLiteContext* context, TfLiteNode* node) {
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(GetEndsOfOneType(context, node, &ends));
  const auto [input, output] = ends;
  auto* data = static_cast<ReluData*>(node->user_data);
  if (input->type == kTfLiteInt8) {
    data->input_zero_point = input->params.zero_point;
    data->output_zero_point = output->params.zero_point;
    // The quotient is rounded to single precision first.
    data->rescale = Quantize(static_cast<double>(input->params.scale / output->params.scale));
    return QuantizedActivationRange(context, kTfLiteActRelu, output, &data->activation);
  }
  return kTfLiteOk;
}

// Input and output share one quantization: only the range is clamped.
TfLiteStatus PrepareRelu6(TfLiteContext* context, TfLiteNode* node) {
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(GetEndsOfOneType(context, node, &ends));
  const auto [input, output] = ends;
  auto* data = static_cast<ReluData*>(node->user_data);
  if (input->type == kTfLiteInt8) {
    return QuantizedActivationRange(context, kTfLiteActRelu6, input, &data->activation);
  }
  return kTfLiteOk;
}

template <TfLiteFusedActivation kActivation>
TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const ReluData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  const int count = micro::GetTensorShape(input).FlatSize();
  if (input->type == kTfLiteFloat32) {
    const FloatActivationRange range = ActivationRangeOf(kActivation);
    const auto* from = micro::GetTensorData<float>(input);
    auto* to = micro::GetTensorData<float>(output);
    for (int n = 0; n < count; ++n) {
      to[n] = Clamp(from[n], range);
    }
    return kTfLiteOk;
  }
  const auto* from = micro::GetTensorData<int8_t>(input);
  auto* to = micro::GetTensorData<int8_t>(output);
  for (int n = 0; n < count; ++n) {
    int32_t value = from[n];
    if (kActivation == kTfLiteActRelu) {
      value = Multiply(value - data.input_zero_point, data.rescale) + data.output_zero_point;
    }
    to[n] = static_cast<int8_t>(Clamp(value, data.activation));
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_RELU() {
  return micro::RegisterOp<ReluData>(PrepareRelu, Invoke<kTfLiteActRelu>);
}

TFLMRegistration Register_RELU6() {
  return micro::RegisterOp<ReluData>(PrepareRelu6, Invoke<kTfLiteActRelu6>);
}

}  // namespace tflite
