#include "tensorflow/lite/micro/kernels/convolution.h"

namespace tflite {

int PaddingBefore(TfLitePadding padding, int input, int filter, int stride, int dilation,
                  int output) {
  if (padding != kTfLitePaddingSame) {
    return 0;
  }
  const int reach = (filter - 1) * dilation + 1;
  const int missing = (output - 1) * stride + reach - input;
  return missing > 0 ? missing / 2 : 0;
}

void* InitConvolution(TfLiteContext* context, const char*, size_t) {
  return context->AllocatePersistentBuffer(context, sizeof(ConvolutionData));
}

TfLiteStatus PrepareConvolution(TfLiteContext* context, TfLiteNode* node,
                                const ConvolutionOptions& options, int channels,
                                ConvolutionData* data) {
  TF_LITE_ENSURE(context, data != nullptr);
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* input = micro_context->AllocateTempInputTensor(node, kConvInput);
  const TfLiteTensor* filter = micro_context->AllocateTempInputTensor(node, kConvFilter);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, kConvOutput);
  TF_LITE_ENSURE(context, input != nullptr && filter != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, kTfLiteInt8);
  TF_LITE_ENSURE_TYPES_EQ(context, filter->type, kTfLiteInt8);
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteInt8);
  TF_LITE_ENSURE_EQ(context, input->dims->size, 4);
  TF_LITE_ENSURE_EQ(context, filter->dims->size, 4);
  TF_LITE_ENSURE_EQ(context, filter->quantization.type, kTfLiteAffineQuantization);
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(filter->quantization.params);
  const bool per_channel = affine->scale->size > 1;
  const int count = filter->dims->data[channels];
  TF_LITE_ENSURE(context, !per_channel || affine->scale->size == count);

  data->channels = static_cast<QuantizedMultiplier*>(context->AllocatePersistentBuffer(
      context, sizeof(QuantizedMultiplier) * static_cast<size_t>(count)));
  TF_LITE_ENSURE(context, data->channels != nullptr);
  const auto input_scale = static_cast<double>(input->params.scale);
  const auto output_scale = static_cast<double>(output->params.scale);
  for (int n = 0; n < count; ++n) {
    const auto filter_scale = static_cast<double>(affine->scale->data[per_channel ? n : 0]);
    data->channels[n] = Quantize(input_scale * filter_scale / output_scale);
  }
  data->input_offset = -input->params.zero_point;
  data->output_offset = output->params.zero_point;
  data->pad_height =
      PaddingBefore(options.padding, input->dims->data[1], filter->dims->data[1],
                    options.stride_height, options.dilation_height, output->dims->data[1]);
  data->pad_width =
      PaddingBefore(options.padding, input->dims->data[2], filter->dims->data[2],
                    options.stride_width, options.dilation_width, output->dims->data[2]);
  return QuantizedActivationRange(context, options.activation, output, &data->activation);
}

}  // namespace tflite
