#ifndef TFLM_HIL_STANDALONE_MICRO_OP_RESOLVER_H_
#define TFLM_HIL_STANDALONE_MICRO_OP_RESOLVER_H_

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/micro/micro_common.h"
#include "tensorflow/lite/micro/tflite_bridge/flatbuffer_conversions_bridge.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace tflite {

// Finds the registration for an operator of a model.
class MicroOpResolver {
 public:
  virtual ~MicroOpResolver() = default;

  // Null if the operator is not registered.
  virtual const TFLMRegistration* FindOp(BuiltinOperator op) const = 0;
  virtual const TFLMRegistration* FindOp(const char* op) const = 0;

  // The function that reads a builtin operator's options from the model, null if not registered.
  virtual TfLiteBridgeBuiltinParseFunction GetOpDataParser(BuiltinOperator op) const = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

// Looks up the registration for an operator code of a model; says on the log what is not there.
TfLiteStatus GetRegistrationFromOpCode(const OperatorCode* opcode,
                                       const MicroOpResolver& op_resolver,
                                       const TFLMRegistration** registration);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_OP_RESOLVER_H_
