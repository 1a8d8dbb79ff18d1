#include "tensorflow/lite/micro/memory_planner/greedy_memory_planner.h"

namespace tflite {
namespace {

constexpr uint16_t kNone = 0xFFFF;

// Larger first; where equal, used earlier first; then the caller's order, so that a plan does not
// depend on the sort.
bool GoesFirst(const BufferRequirement& a, const BufferRequirement& b) {
  if (a.bytes != b.bytes) {
    return a.bytes > b.bytes;
  }
  if (a.first_use != b.first_use) {
    return a.first_use < b.first_use;
  }
  return a.index < b.index;
}

void SortBySize(BufferRequirement* requirements, size_t count) {
  for (size_t next = 1; next < count; ++next) {
    const BufferRequirement moving = requirements[next];
    size_t at = next;
    while (at > 0 && GoesFirst(moving, requirements[at - 1])) {
      requirements[at] = requirements[at - 1];
      --at;
    }
    requirements[at] = moving;
  }
}

bool LiveTogether(const BufferRequirement& a, const BufferRequirement& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

}  // namespace

size_t PlanGreedily(BufferRequirement* requirements, size_t count) {
  SortBySize(requirements, count);
  uint16_t lowest = kNone;
  size_t needed = 0;
  for (size_t n = 0; n < count; ++n) {
    BufferRequirement& buffer = requirements[n];
    buffer.offset = 0;
    // Placed buffers come in order of offset: step over each that is in the way.
    for (uint16_t p = lowest; p != kNone; p = requirements[p].placed_next) {
      const BufferRequirement& placed = requirements[p];
      if (!LiveTogether(buffer, placed)) {
        continue;
      }
      if (placed.offset >= buffer.offset + buffer.bytes) {
        break;
      }
      if (placed.offset + placed.bytes > buffer.offset) {
        buffer.offset = placed.offset + placed.bytes;
      }
    }
    uint16_t* link = &lowest;
    while (*link != kNone && requirements[*link].offset <= buffer.offset) {
      link = &requirements[*link].placed_next;
    }
    buffer.placed_next = *link;
    *link = static_cast<uint16_t>(n);
    if (buffer.offset + buffer.bytes > needed) {
      needed = buffer.offset + buffer.bytes;
    }
  }
  return needed;
}

}  // namespace tflite
