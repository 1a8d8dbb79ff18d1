#ifndef TFLM_HIL_STANDALONE_MICRO_PROFILER_H_
#define TFLM_HIL_STANDALONE_MICRO_PROFILER_H_

#include <cstdint>

#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"

namespace tflite {

// Keeps start and end ticks of up to kMaxEvents events and prints them.
class MicroProfiler : public MicroProfilerInterface {
 public:
  MicroProfiler() = default;
  virtual ~MicroProfiler() = default;

  // Marks the start of an event. The text must outlive the profiler.
  uint32_t BeginEvent(const char* tag) override;
  void EndEvent(uint32_t event_handle) override;

  void ClearEvents();

  // Ticks of all events together.
  uint32_t GetTotalTicks() const;

  // One line an event: "CONV_2D took 1768 ticks (0 ms)."
  void Log() const;

  // The same as comma-separated values, with a header line.
  void LogCsv() const;

  // Sums by tag as comma-separated values, with the total.
  void LogTicksPerTagCsv();

 private:
  // TFLM reserves 4,096; this bound keeps a profiled image small (12 bytes an event).
  static constexpr int kMaxEvents = 512;

  uint32_t Ticks(int event) const { return end_ticks_[event] - start_ticks_[event]; }

  const char* tags_[kMaxEvents];
  uint32_t start_ticks_[kMaxEvents];
  uint32_t end_ticks_[kMaxEvents];
  int num_events_ = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

// Brackets a scope with the two calls; a null profiler is none.
class ScopedMicroProfiler {
 public:
  explicit ScopedMicroProfiler(const char* tag, MicroProfilerInterface* profiler)
      : profiler_(profiler) {
    if (profiler_ != nullptr) {
      event_handle_ = profiler_->BeginEvent(tag);
    }
  }

  ~ScopedMicroProfiler() {
    if (profiler_ != nullptr) {
      profiler_->EndEvent(event_handle_);
    }
  }

 private:
  MicroProfilerInterface* profiler_;
  uint32_t event_handle_ = 0;
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_PROFILER_H_
