#ifndef TFLM_HIL_STANDALONE_RECORDING_MICRO_ALLOCATOR_H_
#define TFLM_HIL_STANDALONE_RECORDING_MICRO_ALLOCATOR_H_

#include "tensorflow/lite/micro/arena_allocator/recording_single_arena_buffer_allocator.h"
#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/micro/micro_allocator.h"

namespace tflite {

struct RecordedAllocation {
  size_t requested_bytes;
  size_t used_bytes;  // with alignment
  size_t count;
};

// Says what the arena went to, by kind.
class RecordingMicroAllocator : public MicroAllocator {
 public:
  static RecordingMicroAllocator* Create(uint8_t* tensor_arena, size_t arena_size);

  RecordedAllocation GetRecordedAllocation(RecordedAllocationType allocation_type) const;
  const RecordingSingleArenaBufferAllocator* GetSimpleMemoryAllocator() const { return recording_; }

  uint8_t* Allocate(RecordedAllocationType type, size_t bytes, size_t alignment,
                    size_t count) override;

 private:
  static constexpr int kTypes = static_cast<int>(RecordedAllocationType::kNumAllocationTypes);

  explicit RecordingMicroAllocator(RecordingSingleArenaBufferAllocator* arena);

  RecordingSingleArenaBufferAllocator* recording_;
  RecordedAllocation recorded_[kTypes] = {};

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_RECORDING_MICRO_ALLOCATOR_H_
