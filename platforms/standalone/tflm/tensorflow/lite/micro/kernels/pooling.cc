#include "tensorflow/lite/micro/kernels/convolution.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

struct PoolingData {
  int pad_height;
  int pad_width;
  ActivationRange activation;
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  const auto* options = static_cast<const TfLitePoolParams*>(node->builtin_data);
  auto* data = static_cast<PoolingData*>(node->user_data);
  micro::Ends ends;
  TF_LITE_ENSURE_STATUS(micro::GetEnds(context, node, &ends));
  const auto [input, output] = ends;
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, kTfLiteInt8);
  TF_LITE_ENSURE_EQ(context, input->dims->size, 4);
  data->pad_height = PaddingBefore(options->padding, input->dims->data[1], options->filter_height,
                                   options->stride_height, 1, output->dims->data[1]);
  data->pad_width = PaddingBefore(options->padding, input->dims->data[2], options->filter_width,
                                  options->stride_width, 1, output->dims->data[2]);
  return QuantizedActivationRange(context, options->activation, output, &data->activation);
}

// The part of a window that lies inside the input, along one axis.
struct Span {
  int begin;
  int end;
};

Span Inside(int begin, int extent, int limit) {
  const int end = begin + extent;
  return {begin < 0 ? 0 : begin, end > limit ? limit : end};
}

// The mean of what the window sees, halves rounded away from zero.
struct Average {
  int32_t sum = 0;
  int32_t count = 0;
  void Take(int8_t value) {
    sum += value;
    ++count;
  }
  int32_t Result() const { return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count; }
};

struct Maximum {
  int32_t largest = INT8_MIN;
  void Take(int8_t value) {
    if (value > largest) {
      largest = value;
    }
  }
  int32_t Result() const { return largest; }
};

template <typename Pool>
TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& options = *static_cast<const TfLitePoolParams*>(node->builtin_data);
  const auto& data = *static_cast<const PoolingData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  const int* in = input->dims->data;  // batch, height, width, channels
  const int* out = output->dims->data;
  const auto* input_data = micro::GetTensorData<int8_t>(input);
  auto* result = micro::GetTensorData<int8_t>(output);

  for (int batch = 0; batch < out[0]; ++batch) {
    const int8_t* image = input_data + batch * in[1] * in[2] * in[3];
    for (int out_y = 0; out_y < out[1]; ++out_y) {
      const Span rows =
          Inside(out_y * options.stride_height - data.pad_height, options.filter_height, in[1]);
      for (int out_x = 0; out_x < out[2]; ++out_x) {
        const Span columns =
            Inside(out_x * options.stride_width - data.pad_width, options.filter_width, in[2]);
        TF_LITE_ENSURE(context, rows.begin < rows.end && columns.begin < columns.end);
        for (int channel = 0; channel < out[3]; ++channel) {
          Pool pool;
          for (int row = rows.begin; row < rows.end; ++row) {
            const int8_t* at = image + (row * in[2] + columns.begin) * in[3] + channel;
            for (int column = columns.begin; column < columns.end; ++column, at += in[3]) {
              pool.Take(*at);
            }
          }
          *result++ = static_cast<int8_t>(Clamp(pool.Result(), data.activation));
        }
      }
    }
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_AVERAGE_POOL_2D() {
  return micro::RegisterOp<PoolingData>(Prepare, Invoke<Average>);
}

TFLMRegistration Register_MAX_POOL_2D() {
  return micro::RegisterOp<PoolingData>(Prepare, Invoke<Maximum>);
}

}  // namespace tflite
