#ifndef TFLM_HIL_STANDALONE_RECORDING_SINGLE_ARENA_BUFFER_ALLOCATOR_H_
#define TFLM_HIL_STANDALONE_RECORDING_SINGLE_ARENA_BUFFER_ALLOCATOR_H_

#include "tensorflow/lite/micro/arena_allocator/single_arena_buffer_allocator.h"

namespace tflite {

// Counts what was asked for, what it took with alignment, and how often.
class RecordingSingleArenaBufferAllocator : public SingleArenaBufferAllocator {
 public:
  using SingleArenaBufferAllocator::SingleArenaBufferAllocator;

  uint8_t* AllocatePersistentBuffer(size_t size, size_t alignment) override {
    const size_t before = GetPersistentUsedBytes();
    uint8_t* memory = SingleArenaBufferAllocator::AllocatePersistentBuffer(size, alignment);
    if (memory != nullptr) {
      requested_ += size;
      used_ += GetPersistentUsedBytes() - before;
      count_++;
    }
    return memory;
  }

  size_t GetRequestedBytes() const { return requested_; }
  size_t GetRecordedBytes() const { return used_; }
  size_t GetAllocatedCount() const { return count_; }

 private:
  size_t requested_ = 0;
  size_t used_ = 0;
  size_t count_ = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_RECORDING_SINGLE_ARENA_BUFFER_ALLOCATOR_H_
