// The clock of MicroProfiler.
#ifndef TFLM_HIL_STANDALONE_MICRO_TIME_H_
#define TFLM_HIL_STANDALONE_MICRO_TIME_H_

#include <cstdint>

namespace tflite {

// Ticks of GetCurrentTimeTicks() in a second.
uint32_t ticks_per_second();

// A counter that wraps at 32 bits.
uint32_t GetCurrentTimeTicks();

// Whole milliseconds in `ticks`; a clock of 0 Hz counts as 1 Hz.
inline uint32_t TicksToMs(int32_t ticks) {
  const uint32_t hz = ticks_per_second();
  return static_cast<uint32_t>(1000.0f * static_cast<float>(ticks) /
                               static_cast<float>(hz == 0 ? 1 : hz));
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_TIME_H_
