// Places buffers with lifetimes in one stretch of memory so that buffers that live at the same time
// never overlap: largest first, each at the lowest offset that is free for its whole lifetime.
#ifndef TFLM_HIL_STANDALONE_GREEDY_MEMORY_PLANNER_H_
#define TFLM_HIL_STANDALONE_GREEDY_MEMORY_PLANNER_H_

#include <cstddef>
#include <cstdint>

namespace tflite {

// A buffer to place. Times are node indices; both ends belong to the lifetime.
struct BufferRequirement {
  size_t bytes;  // already rounded up to the arena's alignment
  int16_t first_use;
  int16_t last_use;
  uint16_t placed_next;  // the planner's own list of placed buffers, by offset
  uint16_t index;        // whose buffer this is: the caller's own number
  size_t offset;         // the answer
};

// Gives every requirement its offset; the result is the bytes that the whole plan needs. Sorts
// `requirements` by size, so callers find theirs again by `index`.
size_t PlanGreedily(BufferRequirement* requirements, size_t count);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_GREEDY_MEMORY_PLANNER_H_
