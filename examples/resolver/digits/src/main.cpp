// Five handwritten digits, with tflite-micro's own API. The operators are those of an older model.
#include <cstring>

#include "hil/data.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/system_setup.h"

namespace {

constexpr int kPixels = 64;
alignas(16) uint8_t tensor_arena[16384];
tflite::MicroMutableOpResolver<8> op_resolver;

void RegisterOperators() {
  op_resolver.AddConv2D();
  op_resolver.AddDepthwiseConv2D();
  op_resolver.AddMaxPool2D();
  op_resolver.AddFullyConnected();
  op_resolver.AddReshape();
}

void PrintScores(const int8_t* score) {
  MicroPrintf("scores %d %d %d %d %d %d %d %d %d %d", score[0], score[1], score[2], score[3],
              score[4], score[5], score[6], score[7], score[8], score[9]);
}

}  // namespace

int main() {
  tflite::InitializeTarget();
  RegisterOperators();
  static tflite::MicroInterpreter interpreter(tflite::GetModel(g_model), op_resolver, tensor_arena,
                                              sizeof(tensor_arena));
  if (interpreter.AllocateTensors() != kTfLiteOk) return 1;
  for (int digit = 0; digit < 5; ++digit) {
    std::memcpy(interpreter.input(0)->data.data, g_inputs + kPixels * digit, kPixels);
    if (interpreter.Invoke() != kTfLiteOk) return 1;
    PrintScores(interpreter.output(0)->data.int8);
  }
  MicroPrintf("done");
  return 0;
}
