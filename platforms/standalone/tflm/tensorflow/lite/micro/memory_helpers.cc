#include "tensorflow/lite/micro/memory_helpers.h"

namespace tflite {

TfLiteStatus TfLiteTypeSizeOf(TfLiteType type, size_t* size) {
  switch (type) {
    case kTfLiteInt8:
    case kTfLiteUInt8:
    case kTfLiteBool:
      *size = 1;
      return kTfLiteOk;
    case kTfLiteInt16:
    case kTfLiteUInt16:
    case kTfLiteFloat16:
      *size = 2;
      return kTfLiteOk;
    case kTfLiteFloat32:
    case kTfLiteInt32:
    case kTfLiteUInt32:
    case kTfLiteResource:  // a handle is a variable's number
      *size = 4;
      return kTfLiteOk;
    case kTfLiteInt64:
    case kTfLiteUInt64:
    case kTfLiteFloat64:
      *size = 8;
      return kTfLiteOk;
    default:
      *size = 0;
      return kTfLiteError;
  }
}

TfLiteStatus TfLiteEvalTensorByteLength(const TfLiteEvalTensor* eval_tensor, size_t* out_bytes) {
  size_t element = 0;
  TF_LITE_ENSURE_STATUS(TfLiteTypeSizeOf(eval_tensor->type, &element));
  *out_bytes = element * static_cast<size_t>(ElementCount(*eval_tensor->dims));
  return kTfLiteOk;
}

size_t TfLiteEvalTensorByteLength(const TfLiteEvalTensor* eval_tensor) {
  size_t bytes = 0;
  return TfLiteEvalTensorByteLength(eval_tensor, &bytes) == kTfLiteOk ? bytes : 0;
}

}  // namespace tflite

extern "C" const char* TfLiteTypeGetName(TfLiteType type) {
  switch (type) {
    case kTfLiteNoType:
      return "NOTYPE";
    case kTfLiteFloat32:
      return "FLOAT32";
    case kTfLiteInt32:
      return "INT32";
    case kTfLiteUInt8:
      return "UINT8";
    case kTfLiteInt64:
      return "INT64";
    case kTfLiteBool:
      return "BOOL";
    case kTfLiteInt16:
      return "INT16";
    case kTfLiteInt8:
      return "INT8";
    case kTfLiteResource:
      return "RESOURCE";
    default:
      return "Unknown type";
  }
}
