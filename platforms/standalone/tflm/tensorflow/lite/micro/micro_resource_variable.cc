#include "tensorflow/lite/micro/micro_resource_variable.h"

#include <cstring>
#include <new>

#include "tensorflow/lite/micro/memory_helpers.h"
#include "tensorflow/lite/micro/micro_log.h"

namespace tflite {
namespace {

bool Same(const char* one, const char* other) {
  if (one == nullptr || other == nullptr) return one == other;
  return std::strcmp(one, other) == 0;
}

}  // namespace

MicroResourceVariables* MicroResourceVariables::Create(MicroAllocator* allocator,
                                                       int num_variables) {
  if (allocator == nullptr) return nullptr;
  void* self = allocator->AllocatePersistentBuffer(sizeof(MicroResourceVariables));
  void* table =
      allocator->AllocatePersistentBuffer(sizeof(Variable) * static_cast<size_t>(num_variables));
  if (self == nullptr || table == nullptr) {
    MicroPrintf("Failed to allocate %d resource variables", num_variables);
    return nullptr;
  }
  return new (self) MicroResourceVariables(static_cast<Variable*>(table), num_variables);
}

int MicroResourceVariables::CreateIdIfNoneFound(const char* container, const char* shared_name) {
  for (int id = 0; id < count_; ++id) {
    const bool contained = container == nullptr || Same(container, variables_[id].container);
    if (contained && Same(shared_name, variables_[id].shared_name)) return id;
  }
  if (count_ == capacity_) {
    MicroPrintf("There is room for %d resource variables, not for one more", capacity_);
    return -1;
  }
  variables_[count_] = {container, shared_name, nullptr, 0, 0};
  return count_++;
}

TfLiteStatus MicroResourceVariables::Allocate(int id, TfLiteContext* context,
                                              const TfLiteTensor* tensor) {
  TF_LITE_ENSURE(context, id >= 0 && id < count_);
  Variable& variable = variables_[id];
  if (variable.data != nullptr) return kTfLiteOk;
  variable.data = static_cast<uint8_t*>(context->AllocatePersistentBuffer(context, tensor->bytes));
  TF_LITE_ENSURE(context, variable.data != nullptr);
  variable.bytes = tensor->bytes;
  variable.start = static_cast<uint8_t>(tensor->params.zero_point);
  std::memset(variable.data, variable.start, variable.bytes);
  return kTfLiteOk;
}

MicroResourceVariables::Variable* MicroResourceVariables::Find(int id, size_t bytes) const {
  if (id >= 0 && id < count_ && variables_[id].data != nullptr && variables_[id].bytes == bytes) {
    return &variables_[id];
  }
  MicroPrintf("There is no resource variable %d of %d bytes", id, static_cast<int>(bytes));
  return nullptr;
}

TfLiteStatus MicroResourceVariables::Read(int id, const TfLiteEvalTensor* tensor) {
  const Variable* variable = Find(id, TfLiteEvalTensorByteLength(tensor));
  if (variable == nullptr) return kTfLiteError;
  std::memcpy(tensor->data.raw, variable->data, variable->bytes);
  return kTfLiteOk;
}

TfLiteStatus MicroResourceVariables::Assign(int id, size_t count_bytes, const void* input_buffer) {
  const Variable* variable = Find(id, count_bytes);
  if (variable == nullptr) return kTfLiteError;
  std::memcpy(variable->data, input_buffer, variable->bytes);
  return kTfLiteOk;
}

TfLiteStatus MicroResourceVariables::ResetAll() {
  for (int id = 0; id < count_; ++id) {
    const Variable& variable = variables_[id];
    if (variable.data != nullptr) std::memset(variable.data, variable.start, variable.bytes);
  }
  return kTfLiteOk;
}

}  // namespace tflite
