#include "tensorflow/lite/micro/recording_micro_allocator.h"

#include <new>

namespace tflite {

RecordingMicroAllocator::RecordingMicroAllocator(RecordingSingleArenaBufferAllocator* arena)
    : MicroAllocator(arena), recording_(arena) {}

RecordingMicroAllocator* RecordingMicroAllocator::Create(uint8_t* tensor_arena, size_t arena_size) {
  RecordingSingleArenaBufferAllocator on_stack(tensor_arena, arena_size);
  uint8_t* arena = on_stack.AllocatePersistentBuffer(sizeof(on_stack),
                                                     alignof(RecordingSingleArenaBufferAllocator));
  if (arena == nullptr) {
    return nullptr;
  }
  auto* moved = new (arena) RecordingSingleArenaBufferAllocator(on_stack);
  uint8_t* self = moved->AllocatePersistentBuffer(sizeof(RecordingMicroAllocator),
                                                  alignof(RecordingMicroAllocator));
  return self == nullptr ? nullptr : new (self) RecordingMicroAllocator(moved);
}

uint8_t* RecordingMicroAllocator::Allocate(RecordedAllocationType type, size_t bytes,
                                           size_t alignment, size_t count) {
  const size_t before = recording_->GetPersistentUsedBytes();
  uint8_t* memory = MicroAllocator::Allocate(type, bytes, alignment, count);
  if (memory != nullptr) {
    RecordedAllocation& record = recorded_[static_cast<int>(type)];
    record.requested_bytes += bytes;
    record.used_bytes += recording_->GetPersistentUsedBytes() - before;
    record.count += count;
  }
  return memory;
}

RecordedAllocation RecordingMicroAllocator::GetRecordedAllocation(
    RecordedAllocationType allocation_type) const {
  const int index = static_cast<int>(allocation_type);
  return index >= 0 && index < kTypes ? recorded_[index] : RecordedAllocation{};
}

}  // namespace tflite
