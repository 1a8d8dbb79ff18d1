// An operator code's real builtin operator: old writers use an 8-bit field, new ones a wider one.
#ifndef TFLM_HIL_STANDALONE_SCHEMA_UTILS_H_
#define TFLM_HIL_STANDALONE_SCHEMA_UTILS_H_

#include "tensorflow/lite/schema/schema_generated.h"

namespace tflite {

BuiltinOperator GetBuiltinCode(const OperatorCode* op_code);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_SCHEMA_UTILS_H_
