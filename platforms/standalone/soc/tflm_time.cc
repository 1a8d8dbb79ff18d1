// MicroProfiler's clock: processor cycles from the DWT. In a file of its own, so that an
// application with another clock simply defines both functions itself.
#include "registers.h"
#include "tensorflow/lite/micro/micro_time.h"

namespace tflite {

uint32_t ticks_per_second() { return soc::kCpuHz; }

uint32_t GetCurrentTimeTicks() { return soc::Register(soc::kDwtCyccnt); }

}  // namespace tflite
