// The custom operator Atan: the arc tangent of each element, float32.
#include <cmath>

#include "hil/lifecycle.h"
#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/kernels/internal/tensor_ctypes.h"
#include "tensorflow/lite/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/micro_context.h"

namespace hil {
namespace {

Lifecycle lifecycle("Atan");

// What a node keeps between calls.
struct State {
  int elements;
};

void* Init(TfLiteContext* context, const char*, size_t) {
  lifecycle.Init();
  return context->AllocatePersistentBuffer(context, sizeof(State));
}

TfLiteStatus CheckTypes(TfLiteContext* context, TfLiteNode* node, State* state) {
  tflite::MicroContext* micro = tflite::GetMicroContext(context);
  TfLiteTensor* input = micro->AllocateTempInputTensor(node, 0);
  TfLiteTensor* output = micro->AllocateTempOutputTensor(node, 0);
  if (input == nullptr || output == nullptr) return kTfLiteError;
  state->elements = static_cast<int>(tflite::NumElements(input));
  const bool fits = input->type == kTfLiteFloat32 && output->type == kTfLiteFloat32 &&
                    tflite::NumElements(output) == state->elements;
  micro->DeallocateTempTfLiteTensor(input);
  micro->DeallocateTempTfLiteTensor(output);
  return fits ? kTfLiteOk : kTfLiteError;
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  lifecycle.Prepare();
  if (node->inputs->size != 1 || node->outputs->size != 1) return kTfLiteError;
  return CheckTypes(context, node, static_cast<State*>(node->user_data));
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  lifecycle.Invoke();
  const auto* state = static_cast<const State*>(node->user_data);
  const float* from =
      tflite::micro::GetTensorData<float>(tflite::micro::GetEvalInput(context, node, 0));
  float* to = tflite::micro::GetTensorData<float>(tflite::micro::GetEvalOutput(context, node, 0));
  // In double precision and rounded once: C libraries differ in the last bit of atanf().
  for (int i = 0; i < state->elements; ++i) {
    to[i] = static_cast<float>(std::atan(static_cast<double>(from[i])));
  }
  return kTfLiteOk;
}

// The arena owns the state: there is nothing to give back, only to count.
void Free(TfLiteContext*, void*) { lifecycle.Free(); }
void Reset(TfLiteContext*, void*) { lifecycle.Reset(); }

}  // namespace

const TFLMRegistration* Register_Atan() {
  lifecycle.Enlist();
  static const TFLMRegistration registration =
      tflite::micro::RegisterOp(Init, Prepare, Invoke, Free, Reset);
  return &registration;
}

}  // namespace hil
