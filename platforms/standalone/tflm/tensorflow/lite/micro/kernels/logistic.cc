#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

constexpr int kInputBits = 4;  // the argument is taken in Q4.27

struct LogisticData {
  int32_t zero_point;
  int32_t radius;  // inputs that far from the zero point saturate
  QuantizedMultiplier scale;
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<LogisticData*>(node->user_data);
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(micro::GetEnds(context, node, kTfLiteInt8, kTfLiteInt8, &ends));
  const auto [input, output] = ends;
  // The operator's definition fixes its output: 1/256 a step from -128.
  TF_LITE_ENSURE_EQ(context, output->params.zero_point, INT8_MIN);
  data->zero_point = input->params.zero_point;
  data->scale = Quantize(static_cast<double>(input->params.scale) *
                         static_cast<double>(1 << (31 - kInputBits)));
  data->radius = InputRadius(kInputBits, data->scale.shift);
  return kTfLiteOk;
}

int8_t Logistic(const LogisticData& data, int8_t value) {
  const int32_t centred = value - data.zero_point;
  if (centred <= -data.radius) {
    return INT8_MIN;
  }
  if (centred >= data.radius) {
    return INT8_MAX;
  }
  const int32_t result = RoundingShiftRight(LogisticQ4(Multiply(centred, data.scale)), 31 - 8);
  return static_cast<int8_t>(Clamp(result + INT8_MIN, {INT8_MIN, INT8_MAX}));
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const LogisticData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  const auto* from = micro::GetTensorData<int8_t>(input);
  auto* to = micro::GetTensorData<int8_t>(micro::GetEvalOutput(context, node, 0));
  for (int left = micro::GetTensorShape(input).FlatSize(); left > 0; --left) {
    *to++ = Logistic(data, *from++);
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_LOGISTIC() { return micro::RegisterOp<LogisticData>(Prepare, Invoke); }

}  // namespace tflite
