#include "tensorflow/lite/micro/micro_profiler.h"

#include <cstring>

#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_time.h"

namespace tflite {

uint32_t MicroProfiler::BeginEvent(const char* tag) {
  if (num_events_ == kMaxEvents) {
    MicroPrintf("MicroProfiler: more than %d events, starting again at the first", kMaxEvents);
    num_events_ = 0;
  }
  tags_[num_events_] = tag;
  start_ticks_[num_events_] = GetCurrentTimeTicks();
  end_ticks_[num_events_] = start_ticks_[num_events_];
  return static_cast<uint32_t>(num_events_++);
}

void MicroProfiler::EndEvent(uint32_t event_handle) {
  if (event_handle < static_cast<uint32_t>(kMaxEvents)) {
    end_ticks_[event_handle] = GetCurrentTimeTicks();
  }
}

void MicroProfiler::ClearEvents() { num_events_ = 0; }

uint32_t MicroProfiler::GetTotalTicks() const {
  uint32_t total = 0;
  for (int event = 0; event < num_events_; ++event) {
    total += Ticks(event);
  }
  return total;
}

void MicroProfiler::Log() const {
  for (int event = 0; event < num_events_; ++event) {
    const uint32_t ticks = Ticks(event);
    MicroPrintf("%s took %u ticks (%d ms).", tags_[event], static_cast<unsigned>(ticks),
                static_cast<int>(TicksToMs(static_cast<int32_t>(ticks))));
  }
}

void MicroProfiler::LogCsv() const {
  MicroPrintf("\"Event\",\"Tag\",\"Ticks\"");
  for (int event = 0; event < num_events_; ++event) {
    MicroPrintf("%d,%s,%u", event, tags_[event], static_cast<unsigned>(Ticks(event)));
  }
}

void MicroProfiler::LogTicksPerTagCsv() {
  MicroPrintf("\"Unique Tag\",\"Total ticks across all events with that tag.\"");
  for (int event = 0; event < num_events_; ++event) {
    // A tag is printed where it first occurs, with what all later events add to it.
    uint32_t sum = 0;
    bool first = true;
    for (int other = 0; other < num_events_ && first; ++other) {
      if (std::strcmp(tags_[other], tags_[event]) == 0) {
        first = other >= event;
        break;
      }
    }
    for (int other = event; first && other < num_events_; ++other) {
      if (std::strcmp(tags_[other], tags_[event]) == 0) {
        sum += Ticks(other);
      }
    }
    if (first) {
      MicroPrintf("%s, %u", tags_[event], static_cast<unsigned>(sum));
    }
  }
  MicroPrintf("\"total number of ticks\", %u", static_cast<unsigned>(GetTotalTicks()));
}

}  // namespace tflite
