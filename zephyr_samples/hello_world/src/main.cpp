// The sine of an angle, computed by a network: twenty angles over a full turn.
#include "hil/main.h"

#include <zephyr/sys/printk.h>

#include <algorithm>
#include <cmath>

namespace {

constexpr float kTwoPi = 6.28318531f;

alignas(16) uint8_t tensor_arena[TFLM_HIL_ARENA_BYTES];
tflite::MicroMutableOpResolver<TFLM_HIL_RESOLVER_SLOTS> op_resolver;

float Angle(uint32_t inference) {
  return kTwoPi * static_cast<float>(inference) / TFLM_HIL_INFERENCES;
}

TfLiteStatus FillAngle(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  TfLiteTensor* input = interpreter.input(0);
  const float angle = Angle(inference);
  if (input->type == kTfLiteFloat32) {
    input->data.f[0] = angle;
    return kTfLiteOk;
  }
  if (input->type != kTfLiteInt8) return kTfLiteError;
  const long steps = std::lround(angle / input->params.scale) + input->params.zero_point;
  input->data.int8[0] = static_cast<int8_t>(std::clamp(steps, -128L, 127L));
  return kTfLiteOk;
}

// A number with six decimals, without a printf that knows floats.
void PrintReal(const char* name, float value) {
  const long millionths = std::lround(value * 1e6f);
  const long size = millionths < 0 ? -millionths : millionths;
  printk("%s: %s%ld.%06ld", name, millionths < 0 ? "-" : "", size / 1000000, size % 1000000);
}

void DescribeSine(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  const TfLiteTensor* output = interpreter.output(0);
  const float sine = output->type == kTfLiteFloat32
                         ? output->data.f[0]
                         : static_cast<float>(output->data.int8[0] - output->params.zero_point) *
                               output->params.scale;
  PrintReal("x_value", Angle(inference));
  PrintReal(", y_value", sine);
  printk("\n");
}

}  // namespace

int main() { return hil::Run(op_resolver, tensor_arena, {FillAngle, DescribeSine}); }
