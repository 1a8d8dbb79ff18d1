#include "tensorflow/lite/micro/tflite_bridge/flatbuffer_conversions_bridge.h"

#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/micro/micro_log.h"

namespace tflite {
namespace {

// Zeroed memory for one options structure; null when the arena is full (which has been said).
template <typename T>
T* New(BuiltinDataAllocator* allocator, void** data) {
  void* memory = allocator->Allocate(sizeof(T), alignof(T));
  if (memory == nullptr) {
    return nullptr;
  }
  T* options = static_cast<T*>(memory);
  *options = T{};
  *data = options;
  return options;
}

TfLitePadding Convert(Padding padding) {
  return padding == Padding_SAME ? kTfLitePaddingSame : kTfLitePaddingValid;
}

TfLiteFusedActivation Convert(ActivationFunctionType activation) {
  switch (activation) {
    case ActivationFunctionType_RELU:
      return kTfLiteActRelu;
    case ActivationFunctionType_RELU_N1_TO_1:
      return kTfLiteActReluN1To1;
    case ActivationFunctionType_RELU6:
      return kTfLiteActRelu6;
    case ActivationFunctionType_TANH:
      return kTfLiteActTanh;
    case ActivationFunctionType_SIGN_BIT:
      return kTfLiteActSignBit;
    default:
      return kTfLiteActNone;
  }
}

}  // namespace

TfLiteStatus ConvertTensorType(TensorType tensor_type, TfLiteType* type) {
  switch (tensor_type) {
    case TensorType_FLOAT32:
      *type = kTfLiteFloat32;
      return kTfLiteOk;
    case TensorType_INT32:
      *type = kTfLiteInt32;
      return kTfLiteOk;
    case TensorType_UINT8:
      *type = kTfLiteUInt8;
      return kTfLiteOk;
    case TensorType_INT64:
      *type = kTfLiteInt64;
      return kTfLiteOk;
    case TensorType_BOOL:
      *type = kTfLiteBool;
      return kTfLiteOk;
    case TensorType_INT16:
      *type = kTfLiteInt16;
      return kTfLiteOk;
    case TensorType_RESOURCE:
      *type = kTfLiteResource;
      return kTfLiteOk;
    case TensorType_INT8:
      *type = kTfLiteInt8;
      return kTfLiteOk;
    default:
      *type = kTfLiteNoType;
      MicroPrintf("Unsupported data type %d in tensor", static_cast<int>(tensor_type));
      return kTfLiteError;
  }
}

TfLiteStatus ParseNoOptions(const Operator*, BuiltinDataAllocator*, void** data) {
  *data = nullptr;
  return kTfLiteOk;
}

TfLiteStatus ParseConv2D(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteConvParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const Conv2DOptions* from = op->builtin_options_as_Conv2DOptions()) {
    options->padding = Convert(from->padding());
    options->stride_width = from->stride_w();
    options->stride_height = from->stride_h();
    options->activation = Convert(from->fused_activation_function());
    options->dilation_width_factor = from->dilation_w_factor();
    options->dilation_height_factor = from->dilation_h_factor();
  }
  return kTfLiteOk;
}

TfLiteStatus ParseDepthwiseConv2D(const Operator* op, BuiltinDataAllocator* allocator,
                                  void** data) {
  auto* options = New<TfLiteDepthwiseConvParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const DepthwiseConv2DOptions* from = op->builtin_options_as_DepthwiseConv2DOptions()) {
    options->padding = Convert(from->padding());
    options->stride_width = from->stride_w();
    options->stride_height = from->stride_h();
    options->depth_multiplier = from->depth_multiplier();
    options->activation = Convert(from->fused_activation_function());
    options->dilation_width_factor = from->dilation_w_factor();
    options->dilation_height_factor = from->dilation_h_factor();
  }
  return kTfLiteOk;
}

TfLiteStatus ParsePool(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLitePoolParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const Pool2DOptions* from = op->builtin_options_as_Pool2DOptions()) {
    options->padding = Convert(from->padding());
    options->stride_width = from->stride_w();
    options->stride_height = from->stride_h();
    options->filter_width = from->filter_width();
    options->filter_height = from->filter_height();
    options->activation = Convert(from->fused_activation_function());
  }
  return kTfLiteOk;
}

TfLiteStatus ParseFullyConnected(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteFullyConnectedParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const FullyConnectedOptions* from = op->builtin_options_as_FullyConnectedOptions()) {
    options->activation = Convert(from->fused_activation_function());
    options->keep_num_dims = from->keep_num_dims();
  }
  return kTfLiteOk;
}

TfLiteStatus ParseSoftmax(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteSoftmaxParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const SoftmaxOptions* from = op->builtin_options_as_SoftmaxOptions()) {
    options->beta = from->beta();
  }
  return kTfLiteOk;
}

TfLiteStatus ParseConcatenation(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteConcatenationParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const ConcatenationOptions* from = op->builtin_options_as_ConcatenationOptions()) {
    options->axis = from->axis();
    options->activation = Convert(from->fused_activation_function());
  }
  return kTfLiteOk;
}

TfLiteStatus ParseAdd(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteAddParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const AddOptions* from = op->builtin_options_as_AddOptions()) {
    options->activation = Convert(from->fused_activation_function());
  }
  return kTfLiteOk;
}

TfLiteStatus ParseMul(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteMulParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const MulOptions* from = op->builtin_options_as_MulOptions()) {
    options->activation = Convert(from->fused_activation_function());
  }
  return kTfLiteOk;
}

TfLiteStatus ParseReducer(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteReducerParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const ReducerOptions* from = op->builtin_options_as_ReducerOptions()) {
    options->keep_dims = from->keep_dims();
  }
  return kTfLiteOk;
}

TfLiteStatus ParseStridedSlice(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteStridedSliceParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const StridedSliceOptions* from = op->builtin_options_as_StridedSliceOptions()) {
    options->begin_mask = from->begin_mask();
    options->end_mask = from->end_mask();
    options->ellipsis_mask = from->ellipsis_mask();
    options->new_axis_mask = from->new_axis_mask();
    options->shrink_axis_mask = from->shrink_axis_mask();
    options->offset = from->offset();
  }
  return kTfLiteOk;
}

TfLiteStatus ParseVarHandle(const Operator* op, BuiltinDataAllocator* allocator, void** data) {
  auto* options = New<TfLiteVarHandleParams>(allocator, data);
  if (options == nullptr) {
    return kTfLiteError;
  }
  if (const VarHandleOptions* from = op->builtin_options_as_VarHandleOptions()) {
    options->container = from->container() == nullptr ? nullptr : from->container()->c_str();
    options->shared_name = from->shared_name() == nullptr ? nullptr : from->shared_name()->c_str();
  }
  return kTfLiteOk;
}

}  // namespace tflite
