#include "tensorflow/lite/micro/recording_micro_allocator.h"

#include <new>

#include "tensorflow/lite/micro/micro_log.h"

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

void RecordingMicroAllocator::PrintOne(RecordedAllocationType type, const char* name,
                                       const char* what) const {
  const RecordedAllocation record = GetRecordedAllocation(type);
  if (record.used_bytes == 0 && record.requested_bytes == 0) {
    return;
  }
  MicroPrintf(
      "[RecordingMicroAllocator] '%s' used %u bytes with alignment overhead "
      "(requested %u bytes for %u %s)",
      name, static_cast<unsigned>(record.used_bytes), static_cast<unsigned>(record.requested_bytes),
      static_cast<unsigned>(record.count), what);
}

void RecordingMicroAllocator::PrintAllocations() const {
  MicroPrintf("[RecordingMicroAllocator] Arena allocation total %u bytes",
              static_cast<unsigned>(recording_->GetUsedBytes()));
  MicroPrintf("[RecordingMicroAllocator] Arena allocation head %u bytes",
              static_cast<unsigned>(recording_->GetNonPersistentUsedBytes()));
  MicroPrintf("[RecordingMicroAllocator] Arena allocation tail %u bytes",
              static_cast<unsigned>(recording_->GetPersistentUsedBytes()));
  PrintOne(RecordedAllocationType::kTfLiteEvalTensorData, "TfLiteEvalTensor data", "allocations");
  PrintOne(RecordedAllocationType::kPersistentTfLiteTensorData, "Persistent TfLiteTensor data",
           "tensors");
  PrintOne(RecordedAllocationType::kPersistentTfLiteTensorQuantizationData,
           "Persistent TfLiteTensor quantization data", "allocations");
  PrintOne(RecordedAllocationType::kPersistentBufferData, "Persistent buffer data", "allocations");
  PrintOne(RecordedAllocationType::kTfLiteTensorVariableBufferData,
           "TfLiteTensor variable buffer data", "allocations");
  PrintOne(RecordedAllocationType::kNodeAndRegistrationArray, "NodeAndRegistration struct",
           "NodeAndRegistration structs");
  PrintOne(RecordedAllocationType::kOpData, "Operator runtime data", "OpData structs");
}

}  // namespace tflite
