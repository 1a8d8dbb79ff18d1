#include "tensorflow/lite/micro/arena_allocator/single_arena_buffer_allocator.h"

#include "tensorflow/lite/micro/micro_log.h"

namespace tflite {
namespace {

uintptr_t AlignDown(uintptr_t address, size_t alignment) { return address & ~(alignment - 1); }

uintptr_t AlignUp(uintptr_t address, size_t alignment) {
  return AlignDown(address + alignment - 1, alignment);
}

uintptr_t Address(const uint8_t* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

uint8_t* Pointer(uintptr_t address) { return reinterpret_cast<uint8_t*>(address); }

unsigned Missing(size_t requested, size_t available) {
  return static_cast<unsigned>(requested > available ? requested - available : 0);
}

}  // namespace

SingleArenaBufferAllocator::SingleArenaBufferAllocator(uint8_t* arena, size_t size) {
  start_ = Pointer(AlignUp(Address(arena), kArenaAlignment));
  end_ = Pointer(AlignDown(Address(arena) + size, kArenaAlignment));
  if (end_ < start_) {
    end_ = start_;
  }
  planned_end_ = start_;
  temp_end_ = start_;
  tail_ = end_;
}

uint8_t* SingleArenaBufferAllocator::AllocatePersistentBuffer(size_t size, size_t alignment) {
  const uintptr_t limit = Address(temp_end_);
  const uintptr_t top = Address(tail_);
  if (size <= top && AlignDown(top - size, alignment) >= limit && size <= top - limit) {
    tail_ = Pointer(AlignDown(top - size, alignment));
    return tail_;
  }
  persistent_failed_ = true;
  const uintptr_t aligned_top = AlignDown(top, alignment);
  const size_t available = aligned_top > limit ? aligned_top - limit : 0;
  MicroPrintf("Failed to allocate tail memory. Requested: %u, available %u, missing: %u",
              static_cast<unsigned>(size), static_cast<unsigned>(available),
              Missing(size, available));
  return nullptr;
}

uint8_t* SingleArenaBufferAllocator::AllocateTemp(size_t size, size_t alignment) {
  const uintptr_t begin = AlignUp(Address(temp_end_), alignment);
  const size_t available = Address(tail_) > begin ? Address(tail_) - begin : 0;
  if (size > available) {
    MicroPrintf("Failed to allocate temp memory. Requested: %u, available %u, missing: %u",
                static_cast<unsigned>(size), static_cast<unsigned>(available),
                Missing(size, available));
    return nullptr;
  }
  temp_end_ = Pointer(begin + size);
  if (GetNonPersistentUsedBytes() > most_) {
    most_ = GetNonPersistentUsedBytes();
  }
  return Pointer(begin);
}

void SingleArenaBufferAllocator::ResetTempAllocations() { temp_end_ = planned_end_; }

TfLiteStatus SingleArenaBufferAllocator::ResizeBuffer(size_t size) {
  const size_t available = static_cast<size_t>(tail_ - start_);
  if (temp_end_ != planned_end_ || size > available) {
    MicroPrintf("Failed to resize buffer. Requested: %u, available %u, missing: %u",
                static_cast<unsigned>(size), static_cast<unsigned>(available),
                Missing(size, available));
    return kTfLiteError;
  }
  planned_end_ = start_ + size;
  temp_end_ = planned_end_;
  return kTfLiteOk;
}

size_t SingleArenaBufferAllocator::GetNonPersistentUsedBytes() const {
  return static_cast<size_t>((temp_end_ > planned_end_ ? temp_end_ : planned_end_) - start_);
}

}  // namespace tflite
