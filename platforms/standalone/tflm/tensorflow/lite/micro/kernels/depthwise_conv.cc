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

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& options = *static_cast<const TfLiteDepthwiseConvParams*>(node->builtin_data);
  const auto& data = *static_cast<const ConvolutionData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, kConvInput);
  const TfLiteEvalTensor* filter = micro::GetEvalInput(context, node, kConvFilter);
  const auto* bias =
      micro::GetOptionalTensorData<int32_t>(micro::GetEvalInput(context, node, kConvBias));
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, kConvOutput);

  const int* in = input->dims->data;    // batch, height, width, channels
  const int* fil = filter->dims->data;  // 1, height, width, output channels
  const int* out = output->dims->data;
  const int multiplier = out[3] / in[3];
  const auto* input_data = micro::GetTensorData<int8_t>(input);
  const auto* filter_data = micro::GetTensorData<int8_t>(filter);
  auto* result = micro::GetTensorData<int8_t>(output);

  for (int batch = 0; batch < out[0]; ++batch) {
    const int8_t* image = input_data + batch * in[1] * in[2] * in[3];
    for (int out_y = 0; out_y < out[1]; ++out_y) {
      const int top = out_y * options.stride_height - data.pad_height;
      for (int out_x = 0; out_x < out[2]; ++out_x) {
        const int left = out_x * options.stride_width - data.pad_width;
        for (int channel = 0; channel < out[3]; ++channel) {
          const int8_t* plane = image + channel / multiplier;
          const int8_t* weights = filter_data + channel;
          int32_t sum = bias == nullptr ? 0 : bias[channel];
          for (int y = 0; y < fil[1]; ++y) {
            const int row = top + y * options.dilation_height_factor;
            if (row < 0 || row >= in[1]) {
              weights += fil[2] * out[3];
              continue;
            }
            for (int x = 0; x < fil[2]; ++x, weights += out[3]) {
              const int column = left + x * options.dilation_width_factor;
              if (column >= 0 && column < in[2]) {
                sum += *weights * (plane[(row * in[2] + column) * in[3]] + data.input_offset);
              }
            }
          }
          sum = Multiply(sum, data.channels[channel]) + data.output_offset;
          *result++ = static_cast<int8_t>(Clamp(sum, data.activation));
        }
      }
    }
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_DEPTHWISE_CONV_2D() {
  return micro::RegisterOp(InitConvolution, Prepare, Invoke);
}

}  // namespace tflite
