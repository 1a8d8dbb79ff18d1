// One arena, used from both ends: what lives as long as the interpreter grows down from the end,
// what is planned by lifetime lies at the start, and temporary memory sits above that.
#ifndef TFLM_HIL_STANDALONE_SINGLE_ARENA_BUFFER_ALLOCATOR_H_
#define TFLM_HIL_STANDALONE_SINGLE_ARENA_BUFFER_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/compatibility.h"

namespace tflite {

// Both ends of the arena and every planned buffer are aligned to this. The smallest arena that a
// model fits in is therefore a multiple of it (for an arena that is itself so aligned).
inline constexpr size_t kArenaAlignment = 16;

class SingleArenaBufferAllocator {
 public:
  SingleArenaBufferAllocator(uint8_t* arena, size_t size);
  virtual ~SingleArenaBufferAllocator() = default;

  // Memory for the interpreter's whole life, taken from the end; null and a log line if full.
  virtual uint8_t* AllocatePersistentBuffer(size_t size, size_t alignment);

  // Memory above the planned part, given back by ResetTempAllocations().
  uint8_t* AllocateTemp(size_t size, size_t alignment);
  void ResetTempAllocations();

  // Sets the size of the planned part at the start. No temporary memory may be in use.
  TfLiteStatus ResizeBuffer(size_t size);

  uint8_t* planned() const { return start_; }

  // The most that lay below the persistent end at any time: planned part and temporary memory.
  size_t GetMostNonPersistentBytes() const { return most_; }

  // Whether AllocatePersistentBuffer() has ever refused.
  bool persistent_failed() const { return persistent_failed_; }

  size_t GetNonPersistentUsedBytes() const;
  size_t GetPersistentUsedBytes() const { return static_cast<size_t>(end_ - tail_); }
  size_t GetUsedBytes() const { return GetNonPersistentUsedBytes() + GetPersistentUsedBytes(); }

 private:
  uint8_t* start_;
  uint8_t* end_;
  uint8_t* planned_end_;
  uint8_t* temp_end_;
  uint8_t* tail_;
  size_t most_ = 0;
  bool persistent_failed_ = false;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_SINGLE_ARENA_BUFFER_ALLOCATOR_H_
