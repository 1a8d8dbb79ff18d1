#ifndef TFLM_HIL_STANDALONE_TENSOR_CTYPES_H_
#define TFLM_HIL_STANDALONE_TENSOR_CTYPES_H_

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/kernels/internal/runtime_shape.h"

namespace tflite {

// The tensor's memory as T; null for no tensor.
template <typename T>
inline T* GetTensorData(TfLiteTensor* tensor) {
  return tensor == nullptr ? nullptr : static_cast<T*>(tensor->data.data);
}

template <typename T>
inline const T* GetTensorData(const TfLiteTensor* tensor) {
  return tensor == nullptr ? nullptr : static_cast<const T*>(tensor->data.data);
}

inline RuntimeShape GetTensorShape(const TfLiteTensor* tensor) {
  return tensor == nullptr ? RuntimeShape() : RuntimeShape(tensor->dims->size, tensor->dims->data);
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_TENSOR_CTYPES_H_
