#include "tensorflow/lite/micro/kernels/elementwise.h"

namespace tflite {
namespace {

int Extent(const RuntimeShape& shape, int from_last) {
  const int n = shape.DimensionsCount() - 1 - from_last;
  return n < 0 ? 1 : shape.Dims(n);
}

}  // namespace

bool PlanBroadcast(const RuntimeShape& shape1, const RuntimeShape& shape2, BroadcastPlan* plan) {
  int size1 = 1;
  int size2 = 1;
  for (int n = 0; n < BroadcastPlan::kDimensions; ++n) {
    const int extent1 = Extent(shape1, n);
    const int extent2 = Extent(shape2, n);
    if (extent1 != extent2 && extent1 != 1 && extent2 != 1) {
      return false;
    }
    const int d = BroadcastPlan::kDimensions - 1 - n;
    plan->extent[d] = extent1 == 1 ? extent2 : extent1;
    plan->stride1[d] = extent1 == 1 ? 0 : size1;
    plan->stride2[d] = extent2 == 1 ? 0 : size2;
    size1 *= extent1;
    size2 *= extent2;
  }
  return true;
}

TfLiteStatus PreparePair(TfLiteContext* context, TfLiteNode* node, TfLiteFusedActivation activation,
                         PairData* data, PairScales* scales) {
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* input1 = micro_context->AllocateTempInputTensor(node, 0);
  const TfLiteTensor* input2 = micro_context->AllocateTempInputTensor(node, 1);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, input1 != nullptr && input2 != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, input1->type, output->type);
  TF_LITE_ENSURE_TYPES_EQ(context, input2->type, output->type);
  scales->quantized = output->type != kTfLiteFloat32;
  if (!scales->quantized) {
    return kTfLiteOk;
  }
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteInt8);
  scales->input1 = static_cast<double>(input1->params.scale);
  scales->input2 = static_cast<double>(input2->params.scale);
  scales->output = static_cast<double>(output->params.scale);
  data->offset1 = -input1->params.zero_point;
  data->offset2 = -input2->params.zero_point;
  data->output_offset = output->params.zero_point;
  return QuantizedActivationRange(context, activation, output, &data->activation);
}

}  // namespace tflite
