// The operators that this runtime has a kernel for.
#ifndef TFLM_HIL_STANDALONE_MICRO_OPS_H_
#define TFLM_HIL_STANDALONE_MICRO_OPS_H_

#include "tensorflow/lite/micro/micro_common.h"

namespace tflite {

TFLMRegistration Register_ADD();
TFLMRegistration Register_ASSIGN_VARIABLE();
TFLMRegistration Register_AVERAGE_POOL_2D();
TFLMRegistration Register_CONCATENATION();
TFLMRegistration Register_CONV_2D();
TFLMRegistration Register_DEPTHWISE_CONV_2D();
TFLMRegistration Register_DEQUANTIZE();
TFLMRegistration Register_FULLY_CONNECTED();
TFLMRegistration Register_LOGISTIC();
TFLMRegistration Register_MAX_POOL_2D();
TFLMRegistration Register_MEAN();
TFLMRegistration Register_MUL();
TFLMRegistration Register_PAD();
TFLMRegistration Register_QUANTIZE();
TFLMRegistration Register_READ_VARIABLE();
TFLMRegistration Register_RELU();
TFLMRegistration Register_RELU6();
TFLMRegistration Register_RESHAPE();
TFLMRegistration Register_SOFTMAX();
TFLMRegistration Register_STRIDED_SLICE();
TFLMRegistration Register_VAR_HANDLE();

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_OPS_H_
