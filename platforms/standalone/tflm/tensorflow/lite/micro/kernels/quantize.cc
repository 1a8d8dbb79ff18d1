#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

struct QuantizeData {
  float scale;  // of the output
  int32_t input_zero_point;
  int32_t output_zero_point;
  QuantizedMultiplier rescale;  // from the input's steps to the output's, int8 to int8
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<QuantizeData*>(node->user_data);
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(micro::GetEnds(context, node, &ends));
  const auto [input, output] = ends;
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteInt8);
  TF_LITE_ENSURE(context, input->type == kTfLiteFloat32 || input->type == kTfLiteInt8);
  data->scale = output->params.scale;
  data->input_zero_point = input->params.zero_point;
  data->output_zero_point = output->params.zero_point;
  if (input->type == kTfLiteInt8) {
    data->rescale = Quantize(static_cast<double>(input->params.scale) /
                             static_cast<double>(output->params.scale));
  }
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const QuantizeData*>(node->user_data);
  constexpr ActivationRange kInt8 = {INT8_MIN, INT8_MAX};
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  auto* to = micro::GetTensorData<int8_t>(micro::GetEvalOutput(context, node, 0));
  const int count = micro::GetTensorShape(input).FlatSize();
  if (input->type == kTfLiteInt8) {
    const auto* from = micro::GetTensorData<int8_t>(input);
    for (int n = 0; n < count; ++n) {
      const int32_t value = Multiply(from[n] - data.input_zero_point, data.rescale);
      to[n] = static_cast<int8_t>(Clamp(value + data.output_zero_point, kInt8));
    }
    return kTfLiteOk;
  }
  const auto* from = micro::GetTensorData<float>(input);
  for (int n = 0; n < count; ++n) {
    // Clamped once before the zero point is added, so that huge inputs cannot wrap round.
    const int32_t steps = Clamp(RoundToInt(from[n] / data.scale), {-65536, 65536});
    to[n] = static_cast<int8_t>(Clamp(steps + data.output_zero_point, kInt8));
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_QUANTIZE() { return micro::RegisterOp<QuantizeData>(Prepare, Invoke); }

}  // namespace tflite
