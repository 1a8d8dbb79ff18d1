#include "tensorflow/lite/micro/kernels/convolution.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  const auto* options = static_cast<const TfLiteConvParams*>(node->builtin_data);
  auto* data = static_cast<ConvolutionData*>(node->user_data);
  TF_LITE_ENSURE_STATUS(PrepareConvolution(context, node, OptionsOf(*options), 0, data));
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, kConvInput);
  const TfLiteEvalTensor* filter = micro::GetEvalInput(context, node, kConvFilter);
  // Groups: a filter may see only part of the input's channels.
  TF_LITE_ENSURE_EQ(context, input->dims->data[3] % filter->dims->data[3], 0);
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& options = *static_cast<const TfLiteConvParams*>(node->builtin_data);
  const auto& data = *static_cast<const ConvolutionData*>(node->user_data);
  // Output channels, height, width, input channels of one group.
  const int* filter = micro::GetEvalInput(context, node, kConvFilter)->dims->data;
  const int depth = filter[3];
  const int row = filter[2] * depth;
  Convolve(context, node, OptionsOf(options), data, {filter[1] * row, row, depth}, depth);
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_CONV_2D() { return micro::RegisterOp<ConvolutionData>(Prepare, Invoke); }

}  // namespace tflite
