// Kernels of the application's own that take the place of builtin ones (configuration `override`).
#ifndef HIL_OWN_KERNELS_H_
#define HIL_OWN_KERNELS_H_

#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/micro_common.h"
#include "tensorflow/lite/micro/micro_context.h"

namespace hil {

const TFLMRegistration& Own_FULLY_CONNECTED();
const TFLMRegistration& Own_AVERAGE_POOL_2D();

// A tensor of a node while the node is prepared; given back when it goes out of scope.
class PreparedTensor {
 public:
  enum class Role { kInput, kOutput };
  PreparedTensor(TfLiteContext* context, TfLiteNode* node, Role role, int index)
      : micro_(tflite::GetMicroContext(context)),
        tensor_(role == Role::kInput ? micro_->AllocateTempInputTensor(node, index)
                                     : micro_->AllocateTempOutputTensor(node, index)) {}
  ~PreparedTensor() {
    if (tensor_ != nullptr) micro_->DeallocateTempTfLiteTensor(tensor_);
  }
  PreparedTensor(const PreparedTensor&) = delete;
  PreparedTensor& operator=(const PreparedTensor&) = delete;

  bool IsInt8() const { return tensor_ != nullptr && tensor_->type == kTfLiteInt8; }
  const TfLiteTensor* operator->() const { return tensor_; }
  const TfLiteTensor* get() const { return tensor_; }

 private:
  tflite::MicroContext* micro_;
  TfLiteTensor* tensor_;
};

// The int8 values between which a fused activation clamps.
struct ClampRange {
  int32_t low;
  int32_t high;
};

// False for an activation that these kernels do not know.
bool RangeOf(TfLiteFusedActivation activation, float scale, int32_t zero_point, ClampRange* range);

}  // namespace hil

#endif  // HIL_OWN_KERNELS_H_
