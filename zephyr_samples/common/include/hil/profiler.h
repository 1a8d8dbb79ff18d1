// Cycles of each operator of one inference.
#ifndef HIL_PROFILER_H_
#define HIL_PROFILER_H_

#include <cstdint>

#include "hil/ticks.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"

namespace hil {

// Takes the place of tflite::MicroProfiler, which asks a tick source that may stand still and keeps
// 4096 events, 48 KB, whatever the model.
class Profiler : public tflite::MicroProfilerInterface {
 public:
  static constexpr uint32_t kMaxEvents = 64;

  uint32_t BeginEvent(const char* tag) override;
  void EndEvent(uint32_t event) override;

  // Drops the events of the inference before.
  void Clear() { count_ = 0; }

  // Prints one `op` record for each event, in the order in which they began. Events above
  // kMaxEvents were only counted; the last record then says how many.
  void Print(uint32_t inference) const;

 private:
  struct Event {
    const char* tag;
    uint32_t ticks;
  };
  Event events_[kMaxEvents];
  uint32_t count_ = 0;
};

}  // namespace hil

#endif  // HIL_PROFILER_H_
