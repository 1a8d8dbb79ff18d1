#include "tensorflow/lite/micro/micro_op_resolver.h"

#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/schema/schema_utils.h"

namespace tflite {

BuiltinOperator GetBuiltinCode(const OperatorCode* op_code) {
  const auto narrow = static_cast<BuiltinOperator>(op_code->deprecated_builtin_code());
  return op_code->builtin_code() > narrow ? op_code->builtin_code() : narrow;
}

TfLiteStatus GetRegistrationFromOpCode(const OperatorCode* opcode,
                                       const MicroOpResolver& op_resolver,
                                       const TFLMRegistration** registration) {
  *registration = nullptr;
  const BuiltinOperator code = GetBuiltinCode(opcode);
  if (code < BuiltinOperator_MIN || code > BuiltinOperator_MAX) {
    MicroPrintf("Op builtin_code out of range: %d.", static_cast<int>(code));
    return kTfLiteError;
  }
  if (code == BuiltinOperator_CUSTOM) {
    if (opcode->custom_code() == nullptr) {
      MicroPrintf("Operator with CUSTOM builtin_code has no custom_code.\n");
      return kTfLiteError;
    }
    // A custom operator that is missing is reported by the caller, without its name.
    *registration = op_resolver.FindOp(opcode->custom_code()->c_str());
    return *registration == nullptr ? kTfLiteError : kTfLiteOk;
  }
  *registration = op_resolver.FindOp(code);
  if (*registration == nullptr) {
    MicroPrintf("Didn't find op for builtin opcode '%s'", EnumNameBuiltinOperator(code));
    return kTfLiteError;
  }
  return kTfLiteOk;
}

}  // namespace tflite
