// The work of all samples: boot, register, allocate, infer, and report it to the host in records.
#ifndef HIL_RUNNER_H_
#define HIL_RUNNER_H_

#include <cstddef>
#include <cstdint>

#include "hil/profiler.h"
#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_op_resolver.h"
#include "tensorflow/lite/micro/micro_resource_variable.h"

namespace hil {

// Puts the inputs of one inference into the interpreter's input tensors.
using FillInputs = TfLiteStatus (*)(uint32_t inference, tflite::MicroInterpreter& interpreter);

// Prints the result of one inference for humans. Optional.
using DescribeOutputs = void (*)(uint32_t inference, tflite::MicroInterpreter& interpreter);

// Makes the resource variables of a streaming model. Optional.
using MakeVariables = tflite::MicroResourceVariables* (*)(tflite::MicroAllocator* allocator);

// What one image is: filled from the generated tflm_hil_config.h.
struct Image {
  const char* sample;
  const char* runtime;
  const char* build;
  uint32_t model_bytes;
  uint32_t arena_bytes;
  uint32_t inferences;
  uint32_t input_rows;   // built-in inputs in g_inputs; 0: none
  uint32_t input_bytes;  // bytes of one of them
};

struct Registration {
  const char* name;
  uint32_t declared;
  uint32_t registered;
  uint32_t refused;
};

// One run of an image, from `boot` to `end`. Every method that can fail prints a `failed` record
// and returns false; the closing records come all the same.
class Runner {
 public:
  explicit Runner(const Image& image, MakeVariables make_variables = nullptr)
      : image_(image), make_variables_(make_variables) {}

  // Prints the first record.
  void Boot();

  void Report(const Registration& registration);

  // Prints that `stage` failed.
  bool Fail(const char* stage, TfLiteStatus status);

  // Checks the model's schema, makes an interpreter in `arena`, and runs built-in inputs.
  void RunBuiltin(const tflite::MicroOpResolver& resolver, uint8_t* arena, FillInputs fill,
                  DescribeOutputs describe);

  // The same with inputs from the host, until it sends `done`.
  void RunConsole(const tflite::MicroOpResolver& resolver, uint8_t* arena);

  // Prints which calls the interpreter, destroyed by now, made to the application's own operators.
  void PrintLifecycles();

  // Allocates once more with a recording interpreter and prints what the arena is used for. Only
  // where the arena has room for its book-keeping.
  void RecordAllocations(const tflite::MicroOpResolver& resolver, uint8_t* arena);

  // Prints the closing records.
  void End();

 private:
  // The model, if its schema is the runtime's; null and a `failed` record if not.
  const tflite::Model* OpenModel();
  // Null for a model without variables.
  tflite::MicroResourceVariables* Variables(tflite::MicroAllocator* allocator) const;
  bool Open(tflite::MicroInterpreter& interpreter);
  bool Infer(uint32_t inference, tflite::MicroInterpreter& interpreter);
  bool FillBuiltin(uint32_t inference, tflite::MicroInterpreter& interpreter);
  // Makes an interpreter in `arena` and hands it to `infer`.
  template <typename Inferences>
  void Run(const tflite::MicroOpResolver& resolver, uint8_t* arena, Inferences infer);
  void InferBuiltin(tflite::MicroInterpreter& interpreter, FillInputs fill,
                    DescribeOutputs describe);
  void InferForHost(tflite::MicroInterpreter& interpreter);

  const Image image_;
  const MakeVariables make_variables_;
  Profiler profiler_;
  TfLiteStatus status_ = kTfLiteOk;
  uint32_t inferences_ = 0;
};

}  // namespace hil

#endif  // HIL_RUNNER_H_
