// Handwritten digits, seen by a small MobileNet-style network.
#include "hil/main.h"

#include "hil/digits.h"

namespace {

alignas(16) uint8_t tensor_arena[TFLM_HIL_ARENA_BYTES];
tflite::MicroMutableOpResolver<TFLM_HIL_RESOLVER_SLOTS> op_resolver;

}  // namespace

int main() { return hil::Run(op_resolver, tensor_arena, {nullptr, hil::DescribeDigit}); }
