#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"

namespace tflite {
namespace {

constexpr int kInput = 0;
constexpr int kWeights = 1;
constexpr int kBias = 2;
constexpr int kOutput = 0;

struct FullyConnectedData {
  int32_t input_offset;
  int32_t weights_offset;
  int32_t output_offset;
  ActivationRange activation;
  QuantizedMultiplier scale;
  QuantizedMultiplier* channels;  // one an output where the weights' scales differ, else null
};

TfLiteStatus PrepareInt8(TfLiteContext* context, TfLiteNode* node, const TfLiteTensor* input,
                         FullyConnectedData* data) {
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* weights = micro_context->AllocateTempInputTensor(node, kWeights);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, kOutput);
  TF_LITE_ENSURE(context, weights != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, weights->type, kTfLiteInt8);
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteInt8);
  TF_LITE_ENSURE_EQ(context, weights->quantization.type, kTfLiteAffineQuantization);
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(weights->quantization.params);
  const auto output_scale = static_cast<double>(output->params.scale);
  data->channels = nullptr;
  if (affine->scale->size > 1) {
    TF_LITE_ENSURE_EQ(context, affine->scale->size, weights->dims->data[0]);
    data->channels = static_cast<QuantizedMultiplier*>(context->AllocatePersistentBuffer(
        context, sizeof(QuantizedMultiplier) * static_cast<size_t>(affine->scale->size)));
    TF_LITE_ENSURE(context, data->channels != nullptr);
    for (int n = 0; n < affine->scale->size; ++n) {
      data->channels[n] = Quantize(static_cast<double>(input->params.scale) *
                                   static_cast<double>(affine->scale->data[n]) / output_scale);
    }
  } else {
    // One scale for all: the product is rounded to single precision first.
    const float product = input->params.scale * weights->params.scale;
    data->scale = Quantize(static_cast<double>(product) / output_scale);
  }
  data->input_offset = -input->params.zero_point;
  data->weights_offset = -weights->params.zero_point;
  data->output_offset = output->params.zero_point;
  const auto* options = static_cast<const TfLiteFullyConnectedParams*>(node->builtin_data);
  return QuantizedActivationRange(context, options->activation, output, &data->activation);
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<FullyConnectedData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  const TfLiteTensor* input = GetMicroContext(context)->AllocateTempInputTensor(node, kInput);
  TF_LITE_ENSURE(context, input != nullptr);
  if (input->type == kTfLiteInt8) {
    return PrepareInt8(context, node, input, data);
  }
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, kTfLiteFloat32);
  return kTfLiteOk;
}

// Sizes of the matrix product: weights are outputs x depth, the input is batches x depth.
struct Sizes {
  int batches;
  int outputs;
  int depth;
};

Sizes SizesOf(const TfLiteEvalTensor* weights, const TfLiteEvalTensor* output) {
  const int outputs = weights->dims->data[0];
  int elements = 1;
  for (int n = 0; n < output->dims->size; ++n) {
    elements *= output->dims->data[n];
  }
  return {elements / outputs, outputs, weights->dims->data[1]};
}

void InvokeInt8(const FullyConnectedData& data, Sizes sizes, const int8_t* input,
                const int8_t* weights, const int32_t* bias, int8_t* output) {
  for (int batch = 0; batch < sizes.batches; ++batch, input += sizes.depth) {
    const int8_t* row = weights;
    for (int n = 0; n < sizes.outputs; ++n, row += sizes.depth) {
      int32_t sum = bias == nullptr ? 0 : bias[n];
      for (int d = 0; d < sizes.depth; ++d) {
        sum += (row[d] + data.weights_offset) * (input[d] + data.input_offset);
      }
      sum = Multiply(sum, data.channels == nullptr ? data.scale : data.channels[n]);
      *output++ = static_cast<int8_t>(Clamp(sum + data.output_offset, data.activation));
    }
  }
}

void InvokeFloat(FloatActivationRange activation, Sizes sizes, const float* input,
                 const float* weights, const float* bias, float* output) {
  for (int batch = 0; batch < sizes.batches; ++batch, input += sizes.depth) {
    const float* row = weights;
    for (int n = 0; n < sizes.outputs; ++n, row += sizes.depth) {
      float sum = 0.0f;
      for (int d = 0; d < sizes.depth; ++d) {
        sum += input[d] * row[d];
      }
      *output++ = Clamp(bias == nullptr ? sum : sum + bias[n], activation);
    }
  }
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, kInput);
  const TfLiteEvalTensor* weights = micro::GetEvalInput(context, node, kWeights);
  const TfLiteEvalTensor* bias = micro::GetEvalInput(context, node, kBias);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, kOutput);
  const Sizes sizes = SizesOf(weights, output);
  if (input->type == kTfLiteInt8) {
    InvokeInt8(*static_cast<const FullyConnectedData*>(node->user_data), sizes,
               micro::GetTensorData<int8_t>(input), micro::GetTensorData<int8_t>(weights),
               micro::GetOptionalTensorData<int32_t>(bias), micro::GetTensorData<int8_t>(output));
  } else {
    const auto* options = static_cast<const TfLiteFullyConnectedParams*>(node->builtin_data);
    InvokeFloat(ActivationRangeOf(options->activation), sizes, micro::GetTensorData<float>(input),
                micro::GetTensorData<float>(weights), micro::GetOptionalTensorData<float>(bias),
                micro::GetTensorData<float>(output));
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_FULLY_CONNECTED() {
  return micro::RegisterOp<FullyConnectedData>(Prepare, Invoke);
}

}  // namespace tflite
