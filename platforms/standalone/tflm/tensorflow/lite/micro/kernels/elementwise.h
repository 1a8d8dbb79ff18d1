// Two inputs of equal or broadcast shapes, element by element.
#ifndef TFLM_HIL_STANDALONE_ELEMENTWISE_H_
#define TFLM_HIL_STANDALONE_ELEMENTWISE_H_

#include <cstdint>

#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"

namespace tflite {

// Steps through an output and both inputs at once; an input of extent 1 stays where it is.
struct BroadcastPlan {
  static constexpr int kDimensions = 6;
  int extent[kDimensions];   // of the output, outermost first, padded with ones
  int stride1[kDimensions];  // elements to step in input 1, 0 if it is broadcast
  int stride2[kDimensions];
};

// False if the shapes do not broadcast to each other.
bool PlanBroadcast(const RuntimeShape& shape1, const RuntimeShape& shape2, BroadcastPlan* plan);

// output[...] = combine(input1[...], input2[...]) over the whole plan.
template <typename T, typename Combine>
void ForEachPair(const BroadcastPlan& plan, const T* input1, const T* input2, T* output,
                 const Combine& combine) {
  int at[BroadcastPlan::kDimensions] = {};
  constexpr int kLast = BroadcastPlan::kDimensions - 1;
  while (true) {
    for (int n = 0; n < plan.extent[kLast]; ++n) {
      *output++ = combine(*input1, *input2);
      input1 += plan.stride1[kLast];
      input2 += plan.stride2[kLast];
    }
    // Back to the row's start, then on to the next row, carrying as in counting.
    input1 -= plan.stride1[kLast] * plan.extent[kLast];
    input2 -= plan.stride2[kLast] * plan.extent[kLast];
    int d = kLast - 1;
    for (; d >= 0; --d) {
      input1 += plan.stride1[d];
      input2 += plan.stride2[d];
      if (++at[d] < plan.extent[d]) {
        break;
      }
      input1 -= plan.stride1[d] * plan.extent[d];
      input2 -= plan.stride2[d] * plan.extent[d];
      at[d] = 0;
    }
    if (d < 0) {
      return;
    }
  }
}

// What prepare works out once for invoke, for int8 tensors.
struct PairData {
  int32_t offset1;
  int32_t offset2;
  int32_t output_offset;
  ActivationRange activation;
};

struct PairScales {
  bool quantized;  // false for float32, which has no scales
  double input1;
  double input2;
  double output;
};

// Checks that both inputs and the output are int8 or all float32; fills `data` for int8.
TfLiteStatus PreparePair(TfLiteContext* context, TfLiteNode* node, TfLiteFusedActivation activation,
                         PairData* data, PairScales* scales);

// Runs the operator: `real` combines two floats, `quantized` two int8 values less their zero
// points, which gives the output less its zero point.
template <typename Real, typename Quantized>
TfLiteStatus InvokePair(TfLiteContext* context, TfLiteNode* node, TfLiteFusedActivation activation,
                        const PairData& data, const Real& real, const Quantized& quantized) {
  const TfLiteEvalTensor* input1 = micro::GetEvalInput(context, node, 0);
  const TfLiteEvalTensor* input2 = micro::GetEvalInput(context, node, 1);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  BroadcastPlan plan;
  TF_LITE_ENSURE(
      context, PlanBroadcast(micro::GetTensorShape(input1), micro::GetTensorShape(input2), &plan));
  if (output->type == kTfLiteFloat32) {
    const FloatActivationRange range = ActivationRangeOf(activation);
    ForEachPair(plan, micro::GetTensorData<float>(input1), micro::GetTensorData<float>(input2),
                micro::GetTensorData<float>(output),
                [&](float a, float b) { return Clamp(real(a, b), range); });
    return kTfLiteOk;
  }
  ForEachPair(plan, micro::GetTensorData<int8_t>(input1), micro::GetTensorData<int8_t>(input2),
              micro::GetTensorData<int8_t>(output), [&](int8_t a, int8_t b) {
                const int32_t result = quantized(a + data.offset1, b + data.offset2);
                return static_cast<int8_t>(Clamp(result + data.output_offset, data.activation));
              });
  return kTfLiteOk;
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_ELEMENTWISE_H_
