// Turns an operator's options in the model into the plain structures that kernels read.
#ifndef TFLM_HIL_STANDALONE_FLATBUFFER_CONVERSIONS_BRIDGE_H_
#define TFLM_HIL_STANDALONE_FLATBUFFER_CONVERSIONS_BRIDGE_H_

#include <cstddef>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace tflite {

// Gives memory that lives as long as the interpreter.
class BuiltinDataAllocator {
 public:
  virtual ~BuiltinDataAllocator() = default;
  virtual void* Allocate(size_t size, size_t alignment_hint) = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

using TfLiteBridgeBuiltinDataAllocator = BuiltinDataAllocator;
using TfLiteBridgeBuiltinParseFunction = TfLiteStatus (*)(const Operator* op,
                                                          BuiltinDataAllocator* allocator,
                                                          void** builtin_data);

// The element type's number in the C interface; an error for one that the runtime does not know.
TfLiteStatus ConvertTensorType(TensorType tensor_type, TfLiteType* type);

// One parser an operator that has options, one for all that have none.
TfLiteStatus ParseNoOptions(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseConv2D(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseDepthwiseConv2D(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParsePool(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseFullyConnected(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseSoftmax(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseConcatenation(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseAdd(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseMul(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseReducer(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseStridedSlice(const Operator* op, BuiltinDataAllocator* allocator, void** data);
TfLiteStatus ParseVarHandle(const Operator* op, BuiltinDataAllocator* allocator, void** data);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_FLATBUFFER_CONVERSIONS_BRIDGE_H_
