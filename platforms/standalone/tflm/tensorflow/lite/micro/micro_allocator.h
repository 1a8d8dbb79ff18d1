#ifndef TFLM_HIL_STANDALONE_MICRO_ALLOCATOR_H_
#define TFLM_HIL_STANDALONE_MICRO_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/arena_allocator/single_arena_buffer_allocator.h"
#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/micro/micro_common.h"
#include "tensorflow/lite/micro/tflite_bridge/flatbuffer_conversions_bridge.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace tflite {

struct NodeAndRegistration {
  TfLiteNode node;
  const TFLMRegistration* registration;
};

// What memory is for; the recording allocator counts each kind by itself.
enum class RecordedAllocationType {
  kTfLiteEvalTensorData,
  kPersistentTfLiteTensorData,
  kPersistentTfLiteTensorQuantizationData,
  kPersistentBufferData,
  kTfLiteTensorVariableBufferData,
  kNodeAndRegistrationArray,
  kOpData,
  kNumAllocationTypes,
};

// Hands out the arena: graph structures and tensors of the model's first subgraph.
class MicroAllocator {
 public:
  // The allocator itself lies in the arena. Null (and a log line) if it is too small even for that.
  static MicroAllocator* Create(uint8_t* tensor_arena, size_t arena_size);

  // Eval tensors and nodes of the model, in that order.
  TfLiteStatus StartModelAllocation(const Model* model);

  // Between nodes: temporary memory is given back, scratch requests are kept.
  TfLiteStatus StartPrepareNode(int node);
  void FinishPrepareNode();

  // Plans all tensors that the graph writes and the scratch buffers by lifetime, and points the
  // eval tensors at their memory.
  TfLiteStatus FinishModelAllocation(const Model* model);

  void* AllocatePersistentBuffer(size_t bytes);
  TfLiteStatus RequestScratchBufferInArena(size_t bytes, int* buffer_idx);
  void* ScratchBuffer(int buffer_idx) const { return scratch_buffers_[buffer_idx]; }

  TfLiteTensor* AllocatePersistentTfLiteTensor(const Model* model, int tensor_index);
  TfLiteTensor* AllocateTempTfLiteTensor(const Model* model, int tensor_index);

  // Memory for `count` objects of one kind; null if full.
  virtual uint8_t* Allocate(RecordedAllocationType type, size_t bytes, size_t alignment,
                            size_t count);

  TfLiteEvalTensor* eval_tensors() const { return eval_tensors_; }
  NodeAndRegistration* nodes() const { return nodes_; }
  BuiltinDataAllocator* GetBuiltinDataAllocator() { return &builtin_data_; }
  size_t used_bytes() const { return arena_->GetUsedBytes(); }

  // Whether something that should live in the arena did not fit.
  bool full() const { return arena_->persistent_failed(); }

 protected:
  explicit MicroAllocator(SingleArenaBufferAllocator* arena);
  virtual ~MicroAllocator() = default;

 private:
  // Options of builtin operators go where the operators' own data goes.
  class OptionsAllocator : public BuiltinDataAllocator {
   public:
    explicit OptionsAllocator(MicroAllocator* owner) : owner_(owner) {}
    void* Allocate(size_t size, size_t alignment_hint) override;

   private:
    MicroAllocator* owner_;

    TF_LITE_REMOVE_VIRTUAL_DELETE
  };

  struct ScratchRequest {
    size_t bytes;
    int node;
  };

  // How many scratch buffers one node may ask for.
  static constexpr size_t kMaxScratchRequestsPerNode = 8;

  ScratchRequest* scratch_requests() const {
    return reinterpret_cast<ScratchRequest*>(arena_->planned());
  }
  TfLiteStatus AllocateVariables(const SubGraph* subgraph);
  TfLiteStatus PlanTensors(const SubGraph* subgraph);
  TfLiteStatus Fill(const Model* model, int tensor_index, bool temporary, TfLiteTensor* tensor);

  SingleArenaBufferAllocator* arena_;
  OptionsAllocator builtin_data_;
  TfLiteEvalTensor* eval_tensors_ = nullptr;
  NodeAndRegistration* nodes_ = nullptr;
  uint8_t** scratch_buffers_ = nullptr;
  size_t scratch_count_ = 0;
  size_t scratch_before_node_ = 0;
  int preparing_node_ = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_ALLOCATOR_H_
