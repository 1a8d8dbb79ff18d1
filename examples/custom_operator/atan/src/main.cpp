// y = atan(x + 1) for a few rows of x, with tflite-micro's own API.
#include "hil/data.h"
#include "my_atan.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/system_setup.h"

namespace {

constexpr int kWidth = 4;
constexpr float kRows[][kWidth] = {
    {-8.0f, -1.0f, -0.5f, 0.0f}, {0.25f, 0.5f, 1.0f, 1.5f}, {2.0f, 2.25f, 20.0f, 201.0f}};
alignas(16) uint8_t tensor_arena[3072];
tflite::MicroMutableOpResolver<2> op_resolver;

void Print(const float* x, const float* y) {
  MicroPrintf("x %f %f %f %f y %f %f %f %f", static_cast<double>(x[0]), static_cast<double>(x[1]),
              static_cast<double>(x[2]), static_cast<double>(x[3]), static_cast<double>(y[0]),
              static_cast<double>(y[1]), static_cast<double>(y[2]), static_cast<double>(y[3]));
}

}  // namespace

int main() {
  tflite::InitializeTarget();
  op_resolver.AddAdd();
  op_resolver.AddCustom("MyAtan", Register_MyAtan());
  static tflite::MicroInterpreter interpreter(tflite::GetModel(g_model), op_resolver, tensor_arena,
                                              sizeof(tensor_arena));
  if (interpreter.AllocateTensors() != kTfLiteOk) return 1;
  for (const auto& row : kRows) {
    float* x = interpreter.input(0)->data.f;
    for (int i = 0; i < kWidth; ++i) x[i] = row[i];
    if (interpreter.Invoke() != kTfLiteOk) return 1;
    Print(row, interpreter.output(0)->data.f);
  }
  MicroPrintf("done");
  return 0;
}
