// VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE. A handle is a tensor of type resource that holds the
// variable's number.
#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/memory_helpers.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_resource_variable.h"

namespace tflite {
namespace {

MicroResourceVariables* Variables(const TfLiteContext* context) {
  return GetMicroContext(context)->resource_variables();
}

int Number(const TfLiteEvalTensor* handle) { return *handle->data.i32; }

// Checks that input 0 is a handle that some VAR_HANDLE before this node has set.
TfLiteStatus CheckHandle(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* handle = micro::GetEvalInput(context, node, 0);
  TF_LITE_ENSURE(context, handle != nullptr);
  TF_LITE_ENSURE_TYPES_EQ(context, handle->type, kTfLiteResource);
  TF_LITE_ENSURE(context, handle->data.i32 != nullptr);
  TF_LITE_ENSURE(context, Variables(context) != nullptr);
  return kTfLiteOk;
}

// The number is known here and never changes: the output points at it for good.
TfLiteStatus PrepareHandle(TfLiteContext* context, TfLiteNode* node) {
  if (Variables(context) == nullptr) {
    MicroPrintf("VAR_HANDLE: the interpreter was made without MicroResourceVariables");
    return kTfLiteError;
  }
  auto* number = static_cast<int32_t*>(node->user_data);
  TF_LITE_ENSURE(context, number != nullptr);
  const auto* options = static_cast<const TfLiteVarHandleParams*>(node->builtin_data);
  *number = Variables(context)->CreateIdIfNoneFound(options->container, options->shared_name);
  TF_LITE_ENSURE(context, *number >= 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  TF_LITE_ENSURE_TYPES_EQ(context, output->type, kTfLiteResource);
  output->data.i32 = number;
  return kTfLiteOk;
}

// Asked for all the same: who watches the graph sees each operator by its output.
TfLiteStatus InvokeHandle(TfLiteContext* context, TfLiteNode* node) {
  micro::GetEvalOutput(context, node, 0)->data.i32 = static_cast<int32_t*>(node->user_data);
  return kTfLiteOk;
}

TfLiteStatus PrepareRead(TfLiteContext* context, TfLiteNode* node) {
  TF_LITE_ENSURE_EQ(context, node->inputs->size, 1);
  TF_LITE_ENSURE_EQ(context, node->outputs->size, 1);
  return CheckHandle(context, node);
}

TfLiteStatus InvokeRead(TfLiteContext* context, TfLiteNode* node) {
  const int number = Number(micro::GetEvalInput(context, node, 0));
  return Variables(context)->Read(number, micro::GetEvalOutput(context, node, 0));
}

TfLiteStatus PrepareAssign(TfLiteContext* context, TfLiteNode* node) {
  TF_LITE_ENSURE_EQ(context, node->inputs->size, 2);
  TF_LITE_ENSURE_EQ(context, node->outputs->size, 0);
  TF_LITE_ENSURE_STATUS(CheckHandle(context, node));
  const TfLiteTensor* value = GetMicroContext(context)->AllocateTempInputTensor(node, 1);
  TF_LITE_ENSURE(context, value != nullptr);
  const int number = Number(micro::GetEvalInput(context, node, 0));
  return Variables(context)->Allocate(number, context, value);
}

TfLiteStatus InvokeAssign(TfLiteContext* context, TfLiteNode* node) {
  const TfLiteEvalTensor* value = micro::GetEvalInput(context, node, 1);
  const int number = Number(micro::GetEvalInput(context, node, 0));
  return Variables(context)->Assign(number, TfLiteEvalTensorByteLength(value), value->data.raw);
}

}  // namespace

TFLMRegistration Register_VAR_HANDLE() {
  return micro::RegisterOp<int32_t>(PrepareHandle, InvokeHandle);
}

TFLMRegistration Register_READ_VARIABLE() {
  return micro::RegisterOp(nullptr, PrepareRead, InvokeRead);
}

TFLMRegistration Register_ASSIGN_VARIABLE() {
  return micro::RegisterOp(nullptr, PrepareAssign, InvokeAssign);
}

}  // namespace tflite
