#include <cstring>

#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

constexpr int kDimensions = 5;

struct MeanData {
  int32_t input_zero_point;
  int32_t output_zero_point;
  QuantizedMultiplier scale;       // from a sum of inputs to the output
  int32_t count;                   // inputs in one mean
  int sums;                        // scratch buffer: one sum an output
  int output_stride[kDimensions];  // of each input dimension in the output; 0 if it is reduced
};

// Which dimensions of the input are reduced, as a bit mask.
TfLiteStatus ReducedDimensions(TfLiteContext* context, const TfLiteTensor* axes, int dimensions,
                               unsigned* mask) {
  TF_LITE_ENSURE_TYPES_EQ(context, axes->type, kTfLiteInt32);
  TF_LITE_ENSURE(context, axes->data.i32 != nullptr && "axes must be constant");
  int count = 1;
  for (int n = 0; n < axes->dims->size; ++n) {
    count *= axes->dims->data[n];
  }
  *mask = 0;
  for (int n = 0; n < count; ++n) {
    const int axis = axes->data.i32[n] < 0 ? axes->data.i32[n] + dimensions : axes->data.i32[n];
    TF_LITE_ENSURE(context, axis >= 0 && axis < dimensions);
    *mask |= 1U << axis;
  }
  return kTfLiteOk;
}

// The multiplier of the scales' ratio, divided by the number of inputs. As much of the division as
// fits goes into the multiplier's own bits, the rest into its shift.
QuantizedMultiplier DividedBy(QuantizedMultiplier ratio, int32_t count) {
  int shift = 31 - __builtin_clz(static_cast<uint32_t>(count));
  const int most = 31 + ratio.shift < 32 ? 31 + ratio.shift : 32;
  shift = shift < most ? shift : most;
  const int64_t widened = static_cast<int64_t>(ratio.multiplier) << shift;
  return {static_cast<int32_t>(widened / count), ratio.shift - shift};
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<MeanData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* input = micro_context->AllocateTempInputTensor(node, 0);
  const TfLiteTensor* axes = micro_context->AllocateTempInputTensor(node, 1);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, input != nullptr && axes != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, kTfLiteInt8);
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteInt8);
  const int dimensions = input->dims->size;
  TF_LITE_ENSURE(context, dimensions > 0 && dimensions <= kDimensions);
  unsigned reduced = 0;
  TF_LITE_ENSURE_STATUS(ReducedDimensions(context, axes, dimensions, &reduced));
  *data = {};
  data->count = 1;
  int outputs = 1;
  for (int n = dimensions - 1; n >= 0; --n) {
    if (reduced & (1U << n)) {
      data->count *= input->dims->data[n];
    } else {
      data->output_stride[n] = outputs;
      outputs *= input->dims->data[n];
    }
  }
  TF_LITE_ENSURE(context, data->count > 0);
  data->input_zero_point = input->params.zero_point;
  data->output_zero_point = output->params.zero_point;
  data->scale = DividedBy(Quantize(static_cast<double>(input->params.scale) /
                                   static_cast<double>(output->params.scale)),
                          data->count);
  return context->RequestScratchBufferInArena(
      context, static_cast<size_t>(outputs) * sizeof(int32_t), &data->sums);
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const MeanData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  auto* sums = static_cast<int32_t*>(context->GetScratchBuffer(context, data.sums));
  const int outputs = micro::GetTensorShape(output).FlatSize();
  std::memset(sums, 0, static_cast<size_t>(outputs) * sizeof(int32_t));
  // Counts through the input's positions; `at` follows in the output.
  int position[kDimensions] = {};
  const int dimensions = input->dims->size;
  const auto* from = micro::GetTensorData<int8_t>(input);
  int at = 0;
  for (int left = micro::GetTensorShape(input).FlatSize(); left > 0; --left) {
    sums[at] += *from++;
    for (int d = dimensions - 1; d >= 0; --d) {
      at += data.output_stride[d];
      if (++position[d] < input->dims->data[d]) {
        break;
      }
      at -= data.output_stride[d] * input->dims->data[d];
      position[d] = 0;
    }
  }
  auto* to = micro::GetTensorData<int8_t>(output);
  for (int n = 0; n < outputs; ++n) {
    const int32_t sum = sums[n] - data.input_zero_point * data.count;
    const int32_t mean = Multiply(sum, data.scale) + data.output_zero_point;
    to[n] = static_cast<int8_t>(Clamp(mean, {INT8_MIN, INT8_MAX}));
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_MEAN() { return micro::RegisterOp<MeanData>(Prepare, Invoke); }

}  // namespace tflite
