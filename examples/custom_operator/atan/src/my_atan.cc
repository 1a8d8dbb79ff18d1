// The custom operator MyAtan: the arc tangent of each element, float32.
#include "my_atan.h"

#include <cmath>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/kernels/internal/tensor_ctypes.h"
#include "tensorflow/lite/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/micro_context.h"

namespace {

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  if (node->inputs->size != 1 || node->outputs->size != 1) return kTfLiteError;
  tflite::MicroContext* micro = tflite::GetMicroContext(context);
  TfLiteTensor* input = micro->AllocateTempInputTensor(node, 0);
  TfLiteTensor* output = micro->AllocateTempOutputTensor(node, 0);
  if (input == nullptr || output == nullptr) return kTfLiteError;
  const bool fits = input->type == kTfLiteFloat32 && output->type == kTfLiteFloat32 &&
                    tflite::NumElements(input) == tflite::NumElements(output);
  micro->DeallocateTempTfLiteTensor(input);
  micro->DeallocateTempTfLiteTensor(output);
  return fits ? kTfLiteOk : kTfLiteError;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* input = tflite::micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = tflite::micro::GetEvalOutput(context, node, 0);
  const float* from = tflite::micro::GetTensorData<float>(input);
  float* to = tflite::micro::GetTensorData<float>(output);
  const int elements = tflite::micro::GetTensorShape(input).FlatSize();
  for (int i = 0; i < elements; ++i) {
    to[i] = static_cast<float>(std::atan(static_cast<double>(from[i])));
  }
  return kTfLiteOk;
}

}  // namespace

const TFLMRegistration* Register_MyAtan() {
  static const TFLMRegistration registration =
      tflite::micro::RegisterOp(nullptr, Prepare, Invoke, nullptr, nullptr);
  return &registration;
}
