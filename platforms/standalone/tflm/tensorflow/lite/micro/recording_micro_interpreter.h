#ifndef TFLM_HIL_STANDALONE_RECORDING_MICRO_INTERPRETER_H_
#define TFLM_HIL_STANDALONE_RECORDING_MICRO_INTERPRETER_H_

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/recording_micro_allocator.h"

namespace tflite {

// An interpreter whose allocator says what the arena went to.
class RecordingMicroInterpreter : public MicroInterpreter {
 public:
  RecordingMicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                            uint8_t* tensor_arena, size_t tensor_arena_size,
                            MicroResourceVariables* resource_variables = nullptr,
                            MicroProfilerInterface* profiler = nullptr)
      : RecordingMicroInterpreter(model, op_resolver,
                                  RecordingMicroAllocator::Create(tensor_arena, tensor_arena_size),
                                  resource_variables, profiler) {}

  RecordingMicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                            RecordingMicroAllocator* allocator,
                            MicroResourceVariables* resource_variables = nullptr,
                            MicroProfilerInterface* profiler = nullptr)
      : MicroInterpreter(model, op_resolver, allocator, resource_variables, profiler) {}

  // Only where initialization_status() is kTfLiteOk.
  const RecordingMicroAllocator& GetMicroAllocator() const {
    return static_cast<const RecordingMicroAllocator&>(allocator());
  }
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_RECORDING_MICRO_INTERPRETER_H_
