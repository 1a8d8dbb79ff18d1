#include "hil/profiler.h"

#include <algorithm>

#include "hil/record.h"

namespace hil {

uint32_t Profiler::BeginEvent(const char* tag) {
  const uint32_t event = count_++;
  if (event < kMaxEvents) events_[event] = {tag, Ticks()};
  return event;
}

void Profiler::EndEvent(uint32_t event) {
  if (event < kMaxEvents) events_[event].ticks = Ticks() - events_[event].ticks;
}

void Profiler::Print(uint32_t inference) const {
  const uint32_t kept = std::min(count_, kMaxEvents);
  for (uint32_t node = 0; node < kept; ++node) {
    Record record("op");
    record.Count("inference", inference)
        .Count("node", node)
        .Text("operator", events_[node].tag)
        .Count("ticks", events_[node].ticks);
    if (node + 1 == kept && count_ > kept) record.Count("untold", count_ - kept);
  }
}

}  // namespace hil
