#include "tensorflow/lite/micro/kernels/convolution.h"

namespace tflite {
namespace {

// What one output sees of an image: rows of columns of runs; the steps between them, in elements.
struct Patch {
  const int8_t* input;    // at the first tap
  const int8_t* weights;  // of the first tap
  int rows;
  int columns;
  int run;
  int input_row, input_column, input_step;
  int weights_row, weights_column, weights_step;
  int32_t offset;
};

// Sum of weights * (input + offset). A function of its own: inlined below, its loops would run out
// of registers and take twice as many instructions.
__attribute__((noinline)) int32_t Correlate(const Patch& patch) {
  int32_t sum = 0;
  const int32_t offset = patch.offset;
  const int input_step = patch.input_step;
  const int weights_step = patch.weights_step;
  for (int y = 0; y < patch.rows; ++y) {
    for (int x = 0; x < patch.columns; ++x) {
      const int8_t* input = patch.input + y * patch.input_row + x * patch.input_column;
      const int8_t* weights = patch.weights + y * patch.weights_row + x * patch.weights_column;
      const auto add_product = [&]() __attribute__((always_inline)) {
        sum += *weights * (*input + offset);
        weights += weights_step;
        input += input_step;
      };
      int left = patch.run;
      for (; left >= 4; left -= 4) {
        add_product();
        add_product();
        add_product();
        add_product();
      }
      if (left & 2) {
        add_product();
        add_product();
      }
      if (left & 1) {
        add_product();
      }
    }
  }
  return sum;
}

// The taps [first, last) of a window at `start` that fall inside [0, size).
struct Taps {
  Taps(int start, int step, int count, int size) : first(0), last(count) {
    while (first < last && start + first * step < 0) {
      ++first;
    }
    while (first < last && start + (last - 1) * step >= size) {
      --last;
    }
  }
  int first;
  int last;
};

}  // namespace

int PaddingBefore(TfLitePadding padding, int input, int filter, int stride, int dilation,
                  int output) {
  if (padding != kTfLitePaddingSame) {
    return 0;
  }
  const int reach = (filter - 1) * dilation + 1;
  const int missing = (output - 1) * stride + reach - input;
  return missing > 0 ? missing / 2 : 0;
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

void Convolve(TfLiteContext* context, TfLiteNode* node, const ConvolutionOptions& options,
              const ConvolutionData& data, const FilterLayout& layout, int depth) {
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, kConvInput);
  const TfLiteEvalTensor* filter = micro::GetEvalInput(context, node, kConvFilter);
  const auto* bias =
      micro::GetOptionalTensorData<int32_t>(micro::GetEvalInput(context, node, kConvBias));
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, kConvOutput);
  const int* in = input->dims->data;  // batch, height, width, channels
  const int* fil = filter->dims->data;
  const int* out = output->dims->data;
  const int per_group = out[3] / (in[3] / depth);
  const auto* image = micro::GetTensorData<int8_t>(input);
  const auto* filter_data = micro::GetTensorData<int8_t>(filter);
  auto* result = micro::GetTensorData<int8_t>(output);

  Patch patch;
  patch.input_row = options.dilation_height * in[2] * in[3];
  patch.input_column = options.dilation_width * in[3];
  patch.weights_row = layout.row;
  patch.weights_column = layout.column;
  patch.offset = data.input_offset;
  // Where a tap is one channel, or the taps of a row are neighbours, a row is one run.
  const bool neighbours = patch.input_column == depth && layout.column == depth;
  const bool joined = depth == 1 || neighbours;
  patch.input_step = neighbours || depth > 1 ? 1 : patch.input_column;
  patch.weights_step = neighbours || depth > 1 ? 1 : layout.column;
  for (int batch = 0; batch < out[0]; ++batch, image += in[1] * in[2] * in[3]) {
    for (int out_y = 0; out_y < out[1]; ++out_y) {
      const int top = out_y * options.stride_height - data.pad_height;
      const Taps rows(top, options.dilation_height, fil[1], in[1]);
      patch.rows = rows.last - rows.first;
      for (int out_x = 0; out_x < out[2]; ++out_x) {
        const int left = out_x * options.stride_width - data.pad_width;
        const Taps columns(left, options.dilation_width, fil[2], in[2]);
        const int count = columns.last - columns.first;
        patch.columns = joined ? 1 : count;
        patch.run = joined ? count * depth : depth;
        const int first = (top * in[2] + left) * in[3] + rows.first * patch.input_row +
                          columns.first * patch.input_column;
        patch.weights = filter_data + rows.first * layout.row + columns.first * layout.column;
        for (int channel = 0; channel < out[3]; ++channel) {
          patch.input = image + first + channel / per_group * depth;
          int32_t sum = Correlate(patch) + (bias == nullptr ? 0 : bias[channel]);
          sum = Multiply(sum, data.channels[channel]) + data.output_offset;
          *result++ = static_cast<int8_t>(Clamp(sum, data.activation));
          patch.weights += layout.channel;
        }
      }
    }
  }
}

}  // namespace tflite
