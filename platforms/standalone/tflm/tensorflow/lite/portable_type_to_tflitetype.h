// The element type's number for a C++ type.
#ifndef TFLM_HIL_STANDALONE_PORTABLE_TYPE_TO_TFLITETYPE_H_
#define TFLM_HIL_STANDALONE_PORTABLE_TYPE_TO_TFLITETYPE_H_

#include <cstdint>

#include "tensorflow/lite/c/common.h"

namespace tflite {

template <typename T>
constexpr TfLiteType typeToTfLiteType() {
  return kTfLiteNoType;
}
template <>
constexpr TfLiteType typeToTfLiteType<float>() {
  return kTfLiteFloat32;
}
template <>
constexpr TfLiteType typeToTfLiteType<int32_t>() {
  return kTfLiteInt32;
}
template <>
constexpr TfLiteType typeToTfLiteType<int64_t>() {
  return kTfLiteInt64;
}
template <>
constexpr TfLiteType typeToTfLiteType<int16_t>() {
  return kTfLiteInt16;
}
template <>
constexpr TfLiteType typeToTfLiteType<int8_t>() {
  return kTfLiteInt8;
}
template <>
constexpr TfLiteType typeToTfLiteType<uint8_t>() {
  return kTfLiteUInt8;
}
template <>
constexpr TfLiteType typeToTfLiteType<bool>() {
  return kTfLiteBool;
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_PORTABLE_TYPE_TO_TFLITETYPE_H_
