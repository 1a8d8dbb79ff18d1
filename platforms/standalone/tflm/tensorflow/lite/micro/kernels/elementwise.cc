#include "tensorflow/lite/micro/kernels/elementwise.h"

namespace tflite {
namespace {

int Extent(const RuntimeShape& shape, int from_last) {
  const int n = shape.DimensionsCount() - 1 - from_last;
  return n < 0 ? 1 : shape.Dims(n);
}

}  // namespace

bool PlanBroadcast(const RuntimeShape& shape1, const RuntimeShape& shape2, BroadcastPlan* plan) {
  int size1 = 1;
  int size2 = 1;
  for (int n = 0; n < BroadcastPlan::kDimensions; ++n) {
    const int extent1 = Extent(shape1, n);
    const int extent2 = Extent(shape2, n);
    if (extent1 != extent2 && extent1 != 1 && extent2 != 1) {
      return false;
    }
    const int d = BroadcastPlan::kDimensions - 1 - n;
    plan->extent[d] = extent1 == 1 ? extent2 : extent1;
    plan->stride1[d] = extent1 == 1 ? 0 : size1;
    plan->stride2[d] = extent2 == 1 ? 0 : size2;
    size1 *= extent1;
    size2 *= extent2;
  }
  return true;
}

}  // namespace tflite
