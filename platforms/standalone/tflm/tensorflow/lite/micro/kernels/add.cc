#include "tensorflow/lite/micro/kernels/elementwise.h"
#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

// Inputs are scaled up by this many bits before they are brought to a common scale.
constexpr int kHeadroomBits = 20;

struct AddData {
  int32_t offset1;
  int32_t offset2;
  int32_t output_offset;
  QuantizedMultiplier scale1;
  QuantizedMultiplier scale2;
  QuantizedMultiplier output_scale;
  ActivationRange activation;
};

void* Init(TfLiteContext* context, const char*, size_t) {
  return context->AllocatePersistentBuffer(context, sizeof(AddData));
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<AddData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* input1 = micro_context->AllocateTempInputTensor(node, 0);
  const TfLiteTensor* input2 = micro_context->AllocateTempInputTensor(node, 1);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, input1 != nullptr && input2 != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, input1->type, output->type);
  TF_LITE_ENSURE_TYPES_EQ(context, input2->type, output->type);
  if (output->type == kTfLiteFloat32) {
    return kTfLiteOk;
  }
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteInt8);
  const auto scale1 = static_cast<double>(input1->params.scale);
  const auto scale2 = static_cast<double>(input2->params.scale);
  const double common = 2 * (scale1 > scale2 ? scale1 : scale2);
  data->scale1 = Quantize(scale1 / common);
  data->scale2 = Quantize(scale2 / common);
  data->output_scale =
      Quantize(common / ((1 << kHeadroomBits) * static_cast<double>(output->params.scale)));
  data->offset1 = -input1->params.zero_point;
  data->offset2 = -input2->params.zero_point;
  data->output_offset = output->params.zero_point;
  const auto* options = static_cast<const TfLiteAddParams*>(node->builtin_data);
  return QuantizedActivationRange(context, options->activation, output, &data->activation);
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* input1 = micro::GetEvalInput(context, node, 0);
  const TfLiteEvalTensor* input2 = micro::GetEvalInput(context, node, 1);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  BroadcastPlan plan;
  TF_LITE_ENSURE(
      context, PlanBroadcast(micro::GetTensorShape(input1), micro::GetTensorShape(input2), &plan));
  if (output->type == kTfLiteFloat32) {
    const auto* options = static_cast<const TfLiteAddParams*>(node->builtin_data);
    const FloatActivationRange range = ActivationRangeOf(options->activation);
    ForEachPair(plan, micro::GetTensorData<float>(input1), micro::GetTensorData<float>(input2),
                micro::GetTensorData<float>(output),
                [range](float a, float b) { return Clamp(a + b, range); });
    return kTfLiteOk;
  }
  const auto& data = *static_cast<const AddData*>(node->user_data);
  ForEachPair(plan, micro::GetTensorData<int8_t>(input1), micro::GetTensorData<int8_t>(input2),
              micro::GetTensorData<int8_t>(output), [&data](int8_t a, int8_t b) {
                const int32_t a_up = (a + data.offset1) * (1 << kHeadroomBits);
                const int32_t b_up = (b + data.offset2) * (1 << kHeadroomBits);
                const int32_t sum = Multiply(a_up, data.scale1) + Multiply(b_up, data.scale2);
                const int32_t result = Multiply(sum, data.output_scale) + data.output_offset;
                return static_cast<int8_t>(Clamp(result, data.activation));
              });
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_ADD() { return micro::RegisterOp(Init, Prepare, Invoke); }

}  // namespace tflite
