#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

// Differences to the largest input are taken in Q5.26, sums of exponentials in Q12.19.
constexpr int kDifferenceBits = 5;
constexpr int kSumBits = 12;

struct SoftmaxData {
  QuantizedMultiplier scale;    // from input steps to Q5.26
  int32_t smallest_difference;  // below it an exponential counts as zero
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  const auto* options = static_cast<const TfLiteSoftmaxParams*>(node->builtin_data);
  auto* data = static_cast<SoftmaxData*>(node->user_data);
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(micro::GetEnds(context, node, kTfLiteInt8, kTfLiteInt8, &ends));
  const auto [input, output] = ends;
  // The operator's definition fixes its output: 1/256 a step from -128.
  TF_LITE_ENSURE_EQ(context, output->params.zero_point, INT8_MIN);
  TF_LITE_ENSURE(context, output->params.scale == 1.0f / 256.0f);
  constexpr double kLargest = 2147483647.0;
  double real = static_cast<double>(options->beta) * static_cast<double>(input->params.scale) *
                static_cast<double>(1 << (31 - kDifferenceBits));
  if (real > kLargest) {
    real = kLargest;
  }
  data->scale = Quantize(real);
  data->smallest_difference = -InputRadius(kDifferenceBits, data->scale.shift);
  return kTfLiteOk;
}

int32_t Exponential(const SoftmaxData& data, int32_t difference) {
  return ExpOfNegative(Multiply(difference, data.scale), kDifferenceBits);
}

void SoftmaxRow(const SoftmaxData& data, int depth, const int8_t* input, int8_t* output) {
  int32_t largest = INT8_MIN;
  for (int n = 0; n < depth; ++n) {
    largest = input[n] > largest ? input[n] : largest;
  }
  int32_t sum = 0;
  for (int n = 0; n < depth; ++n) {
    const int32_t difference = input[n] - largest;
    if (difference >= data.smallest_difference) {
      sum += RoundingShiftRight(Exponential(data, difference), kSumBits);
    }
  }
  // sum = (1 + x) * 2^exponent with x in [0, 1): the reciprocal is 1 / (1 + x) and a shift.
  const int headroom = __builtin_clz(static_cast<uint32_t>(sum));
  const auto fraction = static_cast<int32_t>((static_cast<uint32_t>(sum) << headroom) - (1U << 31));
  const int32_t reciprocal = OneOverOnePlusX(fraction);
  const int shift = kSumBits - headroom + 31 - 8;
  for (int n = 0; n < depth; ++n) {
    const int32_t difference = input[n] - largest;
    int32_t result = INT8_MIN;
    if (difference >= data.smallest_difference) {
      const int32_t product = DoublingHighMul(reciprocal, Exponential(data, difference));
      result = Clamp(RoundingShiftRight(product, shift) + INT8_MIN, {INT8_MIN, INT8_MAX});
    }
    output[n] = static_cast<int8_t>(result);
  }
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const SoftmaxData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  const RuntimeShape shape = micro::GetTensorShape(input);
  const int depth = shape.Dims(shape.DimensionsCount() - 1);
  const auto* from = micro::GetTensorData<int8_t>(input);
  auto* to = micro::GetTensorData<int8_t>(output);
  for (int rows = shape.FlatSize() / depth; rows > 0; --rows, from += depth, to += depth) {
    SoftmaxRow(data, depth, from, to);
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_SOFTMAX() { return micro::RegisterOp<SoftmaxData>(Prepare, Invoke); }

}  // namespace tflite
