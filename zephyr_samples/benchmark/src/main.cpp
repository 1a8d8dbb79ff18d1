// Any model, given when the image is built: how long do its inferences take?
#include "hil/main.h"

#include <cstring>

namespace {

alignas(16) uint8_t tensor_arena[TFLM_HIL_ARENA_BYTES];
tflite::MicroMutableOpResolver<TFLM_HIL_RESOLVER_SLOTS> op_resolver;

// A linear congruential generator (Numerical Recipes' constants): the same numbers on every target.
class Noise {
 public:
  explicit Noise(uint32_t seed) : state_(seed) {}
  // The upper byte, which has the longest period.
  uint8_t Byte() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<uint8_t>(state_ >> 24);
  }

 private:
  uint32_t state_;
};

TfLiteStatus FillNoise(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  Noise noise(inference);
  for (size_t i = 0; i < interpreter.inputs_size(); ++i) {
    TfLiteTensor* input = interpreter.input(i);
    if (input->type == kTfLiteFloat32) {
      const size_t count = input->bytes / sizeof(float);
      for (size_t k = 0; k < count; ++k) input->data.f[k] = (noise.Byte() - 128) / 128.0f;
    } else {
      for (size_t k = 0; k < input->bytes; ++k) input->data.uint8[k] = noise.Byte();
    }
  }
  return kTfLiteOk;
}

}  // namespace

int main() { return hil::Run(op_resolver, tensor_arena, {FillNoise, nullptr}); }
