// Rising and falling chimes, heard frame by frame by a network that remembers.
#include "hil/main.h"

#include <zephyr/sys/printk.h>

#include <algorithm>

namespace {

// Ring buffers of the model: `frames` before its first convolution, `features` before its second.
constexpr int kVariables = 2;

constexpr const char* kHeard[] = {"nothing", "a rising chime", "a falling chime"};

alignas(16) uint8_t tensor_arena[TFLM_HIL_ARENA_BYTES];
tflite::MicroMutableOpResolver<TFLM_HIL_RESOLVER_SLOTS> op_resolver;

tflite::MicroResourceVariables* MakeVariables(tflite::MicroAllocator* allocator) {
  return tflite::MicroResourceVariables::Create(allocator, kVariables);
}

void DescribeChime(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  const int8_t* scores = interpreter.output(0)->data.int8;
  const auto* largest = std::max_element(scores, scores + std::size(kHeard));
  printk("frame %u: %s\n", static_cast<unsigned>(inference), kHeard[largest - scores]);
}

}  // namespace

int main() { return hil::Run(op_resolver, tensor_arena, {nullptr, DescribeChime, MakeVariables}); }
