#include <cstring>

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/memory_helpers.h"

namespace tflite {
namespace {

constexpr int kDimensions = 5;

struct PadData {
  int before[kDimensions];  // elements to add, outermost first, filled up with leading zeros
  int32_t value;            // what is added: the output's zero point
};

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<PadData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  MicroContext* micro_context = GetMicroContext(context);
  const TfLiteTensor* input = micro_context->AllocateTempInputTensor(node, 0);
  const TfLiteTensor* paddings = micro_context->AllocateTempInputTensor(node, 1);
  const TfLiteTensor* output = micro_context->AllocateTempOutputTensor(node, 0);
  TF_LITE_ENSURE(context, input != nullptr && paddings != nullptr && output != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, output->type);
  TF_LITE_ENSURE(context, input->type == kTfLiteInt8 || input->type == kTfLiteFloat32);
  TF_LITE_ENSURE_TYPES_EQ(context, paddings->type, kTfLiteInt32);
  TF_LITE_ENSURE(context, paddings->data.raw != nullptr && "paddings must be constant");
  const int dimensions = input->dims->size;
  TF_LITE_ENSURE(context, dimensions <= kDimensions);
  *data = {};
  for (int n = 0; n < dimensions; ++n) {
    const int before = paddings->data.i32[2 * n];
    const int after = paddings->data.i32[2 * n + 1];
    TF_LITE_ENSURE(context, before >= 0 && after >= 0);
    TF_LITE_ENSURE_EQ(context, input->dims->data[n] + before + after, output->dims->data[n]);
    data->before[kDimensions - dimensions + n] = before;
  }
  if (input->type == kTfLiteInt8) {
    // The added elements are real zeros, and both sides share one quantization.
    TF_LITE_ENSURE_EQ(context, input->params.zero_point, output->params.zero_point);
    TF_LITE_ENSURE(context, input->params.scale == output->params.scale);
    data->value = output->params.zero_point;
  }
  return kTfLiteOk;
}

// Extents of a shape, outermost first, filled up with leading ones.
void Extents(const TfLiteIntArray* dims, int* extents) {
  for (int n = 0; n < kDimensions; ++n) {
    const int from = n - (kDimensions - dims->size);
    extents[n] = from < 0 ? 1 : dims->data[from];
  }
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const PadData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  int in[kDimensions];
  int out[kDimensions];
  Extents(input->dims, in);
  Extents(output->dims, out);
  size_t element = 0;
  TF_LITE_ENSURE_STATUS(TfLiteTypeSizeOf(input->type, &element));
  // A float zero is all zero bytes, so one fill serves both types.
  std::memset(output->data.raw, data.value, TfLiteEvalTensorByteLength(output));
  const size_t row = element * static_cast<size_t>(in[4]);
  const char* from = input->data.raw;
  for (int a = 0; a < in[0]; ++a) {
    for (int b = 0; b < in[1]; ++b) {
      for (int c = 0; c < in[2]; ++c) {
        for (int d = 0; d < in[3]; ++d, from += row) {
          int at = a + data.before[0];
          at = at * out[1] + b + data.before[1];
          at = at * out[2] + c + data.before[2];
          at = at * out[3] + d + data.before[3];
          at = at * out[4] + data.before[4];
          std::memcpy(output->data.raw + static_cast<size_t>(at) * element, from, row);
        }
      }
    }
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_PAD() { return micro::RegisterOp<PadData>(Prepare, Invoke); }

}  // namespace tflite
