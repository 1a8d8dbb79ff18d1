#include "hil/own_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hil/lifecycle.h"
#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"

namespace hil {

bool RangeOf(TfLiteFusedActivation activation, float scale, int32_t zero_point, ClampRange* range) {
  constexpr int32_t kLow = std::numeric_limits<int8_t>::min();
  constexpr int32_t kHigh = std::numeric_limits<int8_t>::max();
  *range = {kLow, kHigh};
  switch (activation) {
    case kTfLiteActNone:
      return true;
    case kTfLiteActRelu6:
      range->high = std::min<int32_t>(kHigh, zero_point + std::lround(6.0f / scale));
      [[fallthrough]];
    case kTfLiteActRelu:
      range->low = std::max(kLow, zero_point);
      return true;
    default:
      return false;
  }
}

namespace {

using Role = PreparedTensor::Role;
using tflite::micro::GetEvalInput;
using tflite::micro::GetEvalOutput;
using tflite::micro::GetTensorData;

Lifecycle dense_calls("FULLY_CONNECTED");
Lifecycle pool_calls("AVERAGE_POOL_2D");

// A real factor below 1 as 31-bit fraction times 2^exponent (the quantization scheme of Jacob et
// al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
// Inference", section 2.2).
struct Factor {
  int32_t fraction;
  int exponent;
};

Factor MakeFactor(double real) {
  int exponent;
  int64_t fraction = std::llround(std::frexp(real, &exponent) * (1ll << 31));
  if (fraction == 1ll << 31) {
    fraction /= 2;
    ++exponent;
  }
  return {static_cast<int32_t>(fraction), exponent};
}

// Multiplies and rounds twice, as the reference kernels do by default: the product's upper half to
// nearest with halves up, then the right shift to nearest with halves away from zero.
int32_t Scale(int32_t value, const Factor& factor) {
  const int left = std::max(factor.exponent, 0);
  const int right = std::max(-factor.exponent, 0);
  const int64_t product = static_cast<int64_t>(value) * (int64_t{1} << left) * factor.fraction;
  const auto high = static_cast<int32_t>((product + (int64_t{1} << 30)) >> 31);
  if (right == 0) return high;
  const int32_t half = int32_t{1} << (right - 1);
  return high < 0 ? -((-high + half) >> right) : (high + half) >> right;
}

struct Dense {
  Factor* factors;  // one for each output unit
  ClampRange range;
  int32_t input_zero;
  int32_t output_zero;
  int outputs;
  int depth;
  int batches;
};

// What one output unit's sum is multiplied by; weights have one scale or one for each unit.
double RealFactor(const TfLiteTensor& input, const TfLiteTensor& weights,
                  const TfLiteTensor& output, int unit) {
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(weights.quantization.params);
  if (affine != nullptr && affine->scale->size > 1) {
    return static_cast<double>(input.params.scale) *
           static_cast<double>(affine->scale->data[unit]) /
           static_cast<double>(output.params.scale);
  }
  // The reference kernels form this product in single precision where there is but one scale.
  return static_cast<double>(input.params.scale * weights.params.scale) /
         static_cast<double>(output.params.scale);
}

void* DenseInit(TfLiteContext* context, const char*, size_t) {
  dense_calls.Init();
  return context->AllocatePersistentBuffer(context, sizeof(Dense));
}

TfLiteStatus DensePrepare(TfLiteContext* context, TfLiteNode* node) {
  dense_calls.Prepare();
  auto* data = static_cast<Dense*>(node->user_data);
  const auto* params = static_cast<const TfLiteFullyConnectedParams*>(node->builtin_data);
  const PreparedTensor input(context, node, Role::kInput, 0);
  const PreparedTensor weights(context, node, Role::kInput, 1);
  const PreparedTensor output(context, node, Role::kOutput, 0);
  if (!input.IsInt8() || !weights.IsInt8() || !output.IsInt8()) return kTfLiteError;
  if (weights->params.zero_point != 0) return kTfLiteError;
  data->outputs = weights->dims->data[0];
  data->depth = weights->dims->data[1];
  data->batches = static_cast<int>(output->bytes) / data->outputs;
  data->input_zero = input->params.zero_point;
  data->output_zero = output->params.zero_point;
  const size_t bytes = sizeof(Factor) * static_cast<size_t>(data->outputs);
  data->factors = static_cast<Factor*>(context->AllocatePersistentBuffer(context, bytes));
  if (data->factors == nullptr) return kTfLiteError;
  for (int unit = 0; unit < data->outputs; ++unit) {
    data->factors[unit] = MakeFactor(RealFactor(*input.get(), *weights.get(), *output.get(), unit));
  }
  return RangeOf(params->activation, output->params.scale, data->output_zero, &data->range)
             ? kTfLiteOk
             : kTfLiteError;
}

TfLiteStatus DenseInvoke(TfLiteContext* context, TfLiteNode* node) {
  dense_calls.Invoke();
  const auto& data = *static_cast<const Dense*>(node->user_data);
  const auto* input = GetTensorData<int8_t>(GetEvalInput(context, node, 0));
  const auto* weights = GetTensorData<int8_t>(GetEvalInput(context, node, 1));
  const TfLiteEvalTensor* bias_tensor =
      node->inputs->size > 2 ? GetEvalInput(context, node, 2) : nullptr;
  const auto* bias = bias_tensor != nullptr ? GetTensorData<int32_t>(bias_tensor) : nullptr;
  auto* output = GetTensorData<int8_t>(GetEvalOutput(context, node, 0));
  for (int batch = 0; batch < data.batches; ++batch, input += data.depth) {
    for (int unit = 0; unit < data.outputs; ++unit) {
      int32_t sum = bias != nullptr ? bias[unit] : 0;
      for (int i = 0; i < data.depth; ++i) {
        sum += weights[unit * data.depth + i] * (input[i] - data.input_zero);
      }
      const int32_t scaled = Scale(sum, data.factors[unit]) + data.output_zero;
      *output++ = static_cast<int8_t>(std::clamp(scaled, data.range.low, data.range.high));
    }
  }
  return kTfLiteOk;
}

void DenseFree(TfLiteContext*, void*) { dense_calls.Free(); }
void DenseReset(TfLiteContext*, void*) { dense_calls.Reset(); }

struct Pool {
  ClampRange range;
  int in_height, in_width, out_height, out_width, batches, channels;
  int top, left;
};

// Rows or columns of padding before the first one.
int PaddingBefore(TfLitePadding padding, int in, int out, int window, int stride) {
  return padding == kTfLitePaddingSame ? std::max(0, (out - 1) * stride + window - in) / 2 : 0;
}

void* PoolInit(TfLiteContext* context, const char*, size_t) {
  pool_calls.Init();
  return context->AllocatePersistentBuffer(context, sizeof(Pool));
}

TfLiteStatus PoolPrepare(TfLiteContext* context, TfLiteNode* node) {
  pool_calls.Prepare();
  auto* data = static_cast<Pool*>(node->user_data);
  const auto* params = static_cast<const TfLitePoolParams*>(node->builtin_data);
  const PreparedTensor input(context, node, Role::kInput, 0);
  const PreparedTensor output(context, node, Role::kOutput, 0);
  if (!input.IsInt8() || !output.IsInt8() || input->dims->size != 4) return kTfLiteError;
  data->batches = input->dims->data[0];
  data->in_height = input->dims->data[1];
  data->in_width = input->dims->data[2];
  data->channels = input->dims->data[3];
  data->out_height = output->dims->data[1];
  data->out_width = output->dims->data[2];
  data->top = PaddingBefore(params->padding, data->in_height, data->out_height,
                            params->filter_height, params->stride_height);
  data->left = PaddingBefore(params->padding, data->in_width, data->out_width, params->filter_width,
                             params->stride_width);
  return RangeOf(params->activation, output->params.scale, output->params.zero_point, &data->range)
             ? kTfLiteOk
             : kTfLiteError;
}

// The mean of one window's cells that lie inside the image, halves away from zero.
int32_t WindowMean(const int8_t* image, const Pool& data, const TfLitePoolParams& params, int row,
                   int column, int channel) {
  const int top = row * params.stride_height - data.top;
  const int left = column * params.stride_width - data.left;
  int32_t sum = 0;
  int32_t cells = 0;
  for (int y = std::max(top, 0); y < std::min(top + params.filter_height, data.in_height); ++y) {
    for (int x = std::max(left, 0); x < std::min(left + params.filter_width, data.in_width); ++x) {
      sum += image[(y * data.in_width + x) * data.channels + channel];
      ++cells;
    }
  }
  if (cells == 0) return 0;
  return sum > 0 ? (sum + cells / 2) / cells : (sum - cells / 2) / cells;
}

TfLiteStatus PoolInvoke(TfLiteContext* context, TfLiteNode* node) {
  pool_calls.Invoke();
  const auto& data = *static_cast<const Pool*>(node->user_data);
  const auto& params = *static_cast<const TfLitePoolParams*>(node->builtin_data);
  const auto* image = GetTensorData<int8_t>(GetEvalInput(context, node, 0));
  auto* output = GetTensorData<int8_t>(GetEvalOutput(context, node, 0));
  for (int batch = 0; batch < data.batches; ++batch) {
    for (int row = 0; row < data.out_height; ++row) {
      for (int column = 0; column < data.out_width; ++column) {
        for (int channel = 0; channel < data.channels; ++channel) {
          const int32_t mean = WindowMean(image, data, params, row, column, channel);
          *output++ = static_cast<int8_t>(std::clamp(mean, data.range.low, data.range.high));
        }
      }
    }
    image += data.in_height * data.in_width * data.channels;
  }
  return kTfLiteOk;
}

void PoolFree(TfLiteContext*, void*) { pool_calls.Free(); }
void PoolReset(TfLiteContext*, void*) { pool_calls.Reset(); }

}  // namespace

const TFLMRegistration& Own_FULLY_CONNECTED() {
  dense_calls.Enlist();
  static const TFLMRegistration registration =
      tflite::micro::RegisterOp(DenseInit, DensePrepare, DenseInvoke, DenseFree, DenseReset);
  return registration;
}

const TFLMRegistration& Own_AVERAGE_POOL_2D() {
  pool_calls.Enlist();
  static const TFLMRegistration registration =
      tflite::micro::RegisterOp(PoolInit, PoolPrepare, PoolInvoke, PoolFree, PoolReset);
  return registration;
}

}  // namespace hil
