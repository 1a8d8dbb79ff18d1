#include "hil/digits.h"

#include <zephyr/sys/printk.h>

#include <algorithm>

namespace hil {
namespace {

template <class Score>
int Largest(const Score* scores, int count) {
  return static_cast<int>(std::max_element(scores, scores + count) - scores);
}

}  // namespace

void DescribeDigit(uint32_t inference, tflite::MicroInterpreter& interpreter) {
  const TfLiteTensor* output = interpreter.output(0);
  const int count = output->dims->data[output->dims->size - 1];
  const int digit = output->type == kTfLiteFloat32 ? Largest(output->data.f, count)
                                                   : Largest(output->data.int8, count);
  printk("image %u: digit %d\n", static_cast<unsigned>(inference), digit);
}

}  // namespace hil
