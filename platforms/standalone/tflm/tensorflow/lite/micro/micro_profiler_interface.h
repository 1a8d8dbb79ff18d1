#ifndef TFLM_HIL_STANDALONE_MICRO_PROFILER_INTERFACE_H_
#define TFLM_HIL_STANDALONE_MICRO_PROFILER_INTERFACE_H_

#include <cstdint>

#include "tensorflow/lite/micro/compatibility.h"

namespace tflite {

// Told when a node starts and ends; the handle ties the two together.
class MicroProfilerInterface {
 public:
  virtual ~MicroProfilerInterface() = default;
  virtual uint32_t BeginEvent(const char* tag) = 0;
  virtual void EndEvent(uint32_t event_handle) = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_PROFILER_INTERFACE_H_
