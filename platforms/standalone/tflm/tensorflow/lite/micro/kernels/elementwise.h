// Two inputs of equal or broadcast shapes, element by element.
#ifndef TFLM_HIL_STANDALONE_ELEMENTWISE_H_
#define TFLM_HIL_STANDALONE_ELEMENTWISE_H_

#include <cstdint>

#include "tensorflow/lite/micro/kernels/kernel_util.h"

namespace tflite {

// Steps through an output and both inputs at once; an input of extent 1 stays where it is.
struct BroadcastPlan {
  static constexpr int kDimensions = 6;
  int extent[kDimensions];   // of the output, outermost first, padded with ones
  int stride1[kDimensions];  // elements to step in input 1, 0 where it is broadcast
  int stride2[kDimensions];
};

// False where the shapes do not broadcast to each other.
bool PlanBroadcast(const RuntimeShape& shape1, const RuntimeShape& shape2, BroadcastPlan* plan);

// output[...] = combine(input1[...], input2[...]) over the whole plan.
template <typename T, typename Combine>
void ForEachPair(const BroadcastPlan& plan, const T* input1, const T* input2, T* output,
                 const Combine& combine) {
  int at[BroadcastPlan::kDimensions] = {};
  constexpr int kLast = BroadcastPlan::kDimensions - 1;
  while (true) {
    for (int n = 0; n < plan.extent[kLast]; ++n) {
      *output++ = combine(*input1, *input2);
      input1 += plan.stride1[kLast];
      input2 += plan.stride2[kLast];
    }
    // Back to the row's start, then on to the next row, carrying as in counting.
    input1 -= plan.stride1[kLast] * plan.extent[kLast];
    input2 -= plan.stride2[kLast] * plan.extent[kLast];
    int d = kLast - 1;
    for (; d >= 0; --d) {
      input1 += plan.stride1[d];
      input2 += plan.stride2[d];
      if (++at[d] < plan.extent[d]) {
        break;
      }
      input1 -= plan.stride1[d] * plan.extent[d];
      input2 -= plan.stride2[d] * plan.extent[d];
      at[d] = 0;
    }
    if (d < 0) {
      return;
    }
  }
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_ELEMENTWISE_H_
