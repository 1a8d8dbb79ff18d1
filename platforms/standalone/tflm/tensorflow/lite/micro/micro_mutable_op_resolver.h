#ifndef TFLM_HIL_STANDALONE_MICRO_MUTABLE_OP_RESOLVER_H_
#define TFLM_HIL_STANDALONE_MICRO_MUTABLE_OP_RESOLVER_H_

#include <cstring>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_op_resolver.h"
#include "tensorflow/lite/micro/tflite_bridge/flatbuffer_conversions_bridge.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace tflite {

// A table of up to tOpCount operators that the application fills. Only the kernels it adds are
// linked. Every Add* returns kTfLiteError where it refused, and logs why.
template <unsigned int tOpCount>
class MicroMutableOpResolver : public MicroOpResolver {
 public:
  MicroMutableOpResolver() = default;

  const TFLMRegistration* FindOp(BuiltinOperator op) const override {
    if (op == BuiltinOperator_CUSTOM) {
      return nullptr;
    }
    for (unsigned int slot = 0; slot < registrations_len_; ++slot) {
      if (registrations_[slot].builtin_code == op) {
        return &registrations_[slot];
      }
    }
    return nullptr;
  }

  const TFLMRegistration* FindOp(const char* op) const override {
    for (unsigned int slot = 0; slot < registrations_len_; ++slot) {
      const TFLMRegistration& candidate = registrations_[slot];
      if (candidate.builtin_code == BuiltinOperator_CUSTOM &&
          std::strcmp(candidate.custom_name, op) == 0) {
        return &candidate;
      }
    }
    return nullptr;
  }

  TfLiteBridgeBuiltinParseFunction GetOpDataParser(BuiltinOperator op) const override {
    for (unsigned int slot = 0; slot < num_buitin_ops_; ++slot) {
      if (builtin_codes_[slot] == op) {
        return builtin_parsers_[slot];
      }
    }
    return nullptr;
  }

  // Registers an operator that the model names itself. Size is checked before repetition.
  TfLiteStatus AddCustom(const char* name, const TFLMRegistration* registration) {
    if (registrations_len_ >= tOpCount) {
      MicroPrintf("Couldn't register custom op '%s', resolver size is toosmall (%d)", name,
                  static_cast<int>(tOpCount));
      return kTfLiteError;
    }
    if (FindOp(name) != nullptr) {
      MicroPrintf("Calling AddCustom for the same op more than once ");
      MicroPrintf("is not supported (Op: %s).", name);
      return kTfLiteError;
    }
    Append(*registration, BuiltinOperator_CUSTOM).custom_name = name;
    return kTfLiteOk;
  }

  // The argument lets an application put a kernel of its own in a builtin's place.
  TfLiteStatus AddAdd(const TFLMRegistration& registration = Register_ADD()) {
    return AddBuiltin(BuiltinOperator_ADD, registration, ParseAdd);
  }
  TfLiteStatus AddAssignVariable(
      const TFLMRegistration& registration = Register_ASSIGN_VARIABLE()) {
    return AddBuiltin(BuiltinOperator_ASSIGN_VARIABLE, registration, ParseNoOptions);
  }
  TfLiteStatus AddAveragePool2D(const TFLMRegistration& registration = Register_AVERAGE_POOL_2D()) {
    return AddBuiltin(BuiltinOperator_AVERAGE_POOL_2D, registration, ParsePool);
  }
  TfLiteStatus AddConcatenation(const TFLMRegistration& registration = Register_CONCATENATION()) {
    return AddBuiltin(BuiltinOperator_CONCATENATION, registration, ParseConcatenation);
  }
  TfLiteStatus AddConv2D(const TFLMRegistration& registration = Register_CONV_2D()) {
    return AddBuiltin(BuiltinOperator_CONV_2D, registration, ParseConv2D);
  }
  TfLiteStatus AddDepthwiseConv2D(
      const TFLMRegistration& registration = Register_DEPTHWISE_CONV_2D()) {
    return AddBuiltin(BuiltinOperator_DEPTHWISE_CONV_2D, registration, ParseDepthwiseConv2D);
  }
  TfLiteStatus AddDequantize(const TFLMRegistration& registration = Register_DEQUANTIZE()) {
    return AddBuiltin(BuiltinOperator_DEQUANTIZE, registration, ParseNoOptions);
  }
  TfLiteStatus AddFullyConnected(
      const TFLMRegistration& registration = Register_FULLY_CONNECTED()) {
    return AddBuiltin(BuiltinOperator_FULLY_CONNECTED, registration, ParseFullyConnected);
  }
  TfLiteStatus AddLogistic(const TFLMRegistration& registration = Register_LOGISTIC()) {
    return AddBuiltin(BuiltinOperator_LOGISTIC, registration, ParseNoOptions);
  }
  TfLiteStatus AddMaxPool2D(const TFLMRegistration& registration = Register_MAX_POOL_2D()) {
    return AddBuiltin(BuiltinOperator_MAX_POOL_2D, registration, ParsePool);
  }
  TfLiteStatus AddMean(const TFLMRegistration& registration = Register_MEAN()) {
    return AddBuiltin(BuiltinOperator_MEAN, registration, ParseReducer);
  }
  TfLiteStatus AddMul(const TFLMRegistration& registration = Register_MUL()) {
    return AddBuiltin(BuiltinOperator_MUL, registration, ParseMul);
  }
  TfLiteStatus AddPad(const TFLMRegistration& registration = Register_PAD()) {
    return AddBuiltin(BuiltinOperator_PAD, registration, ParseNoOptions);
  }
  TfLiteStatus AddQuantize(const TFLMRegistration& registration = Register_QUANTIZE()) {
    return AddBuiltin(BuiltinOperator_QUANTIZE, registration, ParseNoOptions);
  }
  TfLiteStatus AddReadVariable(const TFLMRegistration& registration = Register_READ_VARIABLE()) {
    return AddBuiltin(BuiltinOperator_READ_VARIABLE, registration, ParseNoOptions);
  }
  TfLiteStatus AddRelu(const TFLMRegistration& registration = Register_RELU()) {
    return AddBuiltin(BuiltinOperator_RELU, registration, ParseNoOptions);
  }
  TfLiteStatus AddRelu6(const TFLMRegistration& registration = Register_RELU6()) {
    return AddBuiltin(BuiltinOperator_RELU6, registration, ParseNoOptions);
  }
  TfLiteStatus AddReshape(const TFLMRegistration& registration = Register_RESHAPE()) {
    return AddBuiltin(BuiltinOperator_RESHAPE, registration, ParseNoOptions);
  }
  TfLiteStatus AddSoftmax(const TFLMRegistration& registration = Register_SOFTMAX()) {
    return AddBuiltin(BuiltinOperator_SOFTMAX, registration, ParseSoftmax);
  }
  TfLiteStatus AddStridedSlice(const TFLMRegistration& registration = Register_STRIDED_SLICE()) {
    return AddBuiltin(BuiltinOperator_STRIDED_SLICE, registration, ParseStridedSlice);
  }
  TfLiteStatus AddVarHandle(const TFLMRegistration& registration = Register_VAR_HANDLE()) {
    return AddBuiltin(BuiltinOperator_VAR_HANDLE, registration, ParseVarHandle);
  }

  unsigned int GetRegistrationLength() { return registrations_len_; }

 private:
  // Repetition is checked before size, the other way round than in AddCustom().
  TfLiteStatus AddBuiltin(BuiltinOperator op, const TFLMRegistration& registration,
                          TfLiteBridgeBuiltinParseFunction parser) {
    if (FindOp(op) != nullptr) {
      MicroPrintf("Calling AddBuiltin with the same op more than ");
      MicroPrintf("once is not supported (Op: #%d).", static_cast<int>(op));
      return kTfLiteError;
    }
    if (registrations_len_ >= tOpCount) {
      MicroPrintf("Couldn't register builtin op #%d, resolver size ", static_cast<int>(op));
      MicroPrintf("is too small (%d).", static_cast<int>(tOpCount));
      return kTfLiteError;
    }
    Append(registration, op);
    const unsigned int builtin = num_buitin_ops_++;
    builtin_codes_[builtin] = op;
    builtin_parsers_[builtin] = parser;
    return kTfLiteOk;
  }

  // Fills the next slot, which the caller knows to be there.
  TFLMRegistration& Append(const TFLMRegistration& registration, BuiltinOperator op) {
    TFLMRegistration& slot = registrations_[registrations_len_++];
    slot = registration;
    slot.builtin_code = op;
    return slot;
  }

  // Names and order are TFLM's (num_buitin_ops_ included): the harness reads the live table by
  // them.
  TFLMRegistration registrations_[tOpCount];
  unsigned int registrations_len_ = 0;
  BuiltinOperator builtin_codes_[tOpCount];
  TfLiteBridgeBuiltinParseFunction builtin_parsers_[tOpCount];
  unsigned int num_buitin_ops_ = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_MUTABLE_OP_RESOLVER_H_
