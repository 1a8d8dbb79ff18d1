// The body of a sample's main(): included once, by the file that defines it.
#ifndef HIL_MAIN_H_
#define HIL_MAIN_H_

#include "hil/runner.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/system_setup.h"
#include "tflm_hil_config.h"

namespace hil {

struct Hooks {
  FillInputs fill = nullptr;  // null: the inputs that the build put into the image
  DescribeOutputs describe = nullptr;
  MakeVariables make_variables = nullptr;
};

// Runs the image that tflm_hil_config.h describes; `resolver` and `arena` are the application's, so
// that the ELF shows them under its names.
template <unsigned kSlots, size_t kArenaBytes>
int Run(tflite::MicroMutableOpResolver<kSlots>& resolver, uint8_t (&arena)[kArenaBytes],
        const Hooks& hooks = {}) {
  tflite::InitializeTarget();
  static Runner runner(
      {TFLM_HIL_SAMPLE, TFLM_HIL_RUNTIME, TFLM_HIL_BUILD, TFLM_HIL_MODEL_BYTES, kArenaBytes,
       TFLM_HIL_INFERENCES, TFLM_HIL_INPUT_ROWS, TFLM_HIL_INPUT_BYTES},
      hooks.make_variables);
  runner.Boot();
  const unsigned refused = RegisterOperators(resolver);
  runner.Report({TFLM_HIL_RESOLVER_NAME, kSlots, resolver.GetRegistrationLength(), refused});
  if (TFLM_HIL_RESOLVER_CHECKED && refused > 0) {
    runner.Fail("register", kTfLiteError);
  } else {
    if constexpr (TFLM_HIL_CONSOLE_INPUT) {
      runner.RunConsole(resolver, arena);
    } else {
      runner.RunBuiltin(resolver, arena, hooks.fill, hooks.describe);
    }
    runner.PrintLifecycles();
    if constexpr (TFLM_HIL_RECORD_ALLOCATIONS) runner.RecordAllocations(resolver, arena);
  }
  runner.End();
  return 0;
}

}  // namespace hil

#endif  // HIL_MAIN_H_
