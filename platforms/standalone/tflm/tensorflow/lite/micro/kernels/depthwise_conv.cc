#include "tensorflow/lite/micro/kernels/convolution.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  const auto* options = static_cast<const TfLiteDepthwiseConvParams*>(node->builtin_data);
  auto* data = static_cast<ConvolutionData*>(node->user_data);
  TF_LITE_ENSURE_STATUS(PrepareConvolution(context, node, OptionsOf(*options), 3, data));
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, kConvInput);
  const TfLiteEvalTensor* filter = micro::GetEvalInput(context, node, kConvFilter);
  TF_LITE_ENSURE_EQ(context, filter->dims->data[3] % input->dims->data[3], 0);
  return kTfLiteOk;
}

// A convolution in which each group is one input channel.
TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& options = *static_cast<const TfLiteDepthwiseConvParams*>(node->builtin_data);
  const auto& data = *static_cast<const ConvolutionData*>(node->user_data);
  // 1, height, width, output channels.
  const int* filter = micro::GetEvalInput(context, node, kConvFilter)->dims->data;
  Convolve(context, node, OptionsOf(options), data, {1, filter[2] * filter[3], filter[3]}, 1);
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_DEPTHWISE_CONV_2D() {
  return micro::RegisterOp<ConvolutionData>(Prepare, Invoke);
}

}  // namespace tflite
