#include "tensorflow/lite/micro/micro_allocator.h"

#include <cstring>
#include <new>

#include "tensorflow/lite/micro/memory_helpers.h"
#include "tensorflow/lite/micro/memory_planner/greedy_memory_planner.h"
#include "tensorflow/lite/micro/micro_log.h"

namespace tflite {
namespace {

constexpr int16_t kNotUsed = -1;

// Memory in the model itself: null if the buffer is empty (the graph writes the tensor).
const flatbuffers::Vector<uint8_t>* ConstantData(const Model* model, const Tensor* tensor) {
  const auto* buffers = model->buffers();
  if (buffers == nullptr || tensor->buffer() >= buffers->size()) {
    return nullptr;
  }
  const auto* data = buffers->Get(tensor->buffer())->data();
  return data == nullptr || data->size() == 0 ? nullptr : data;
}

TfLiteIntArray* Shape(const Tensor* tensor) {
  // A vector in the model is a length and values: an int array. A scalar has none.
  static const int kScalar = 0;
  const void* shape = tensor->shape() == nullptr ? static_cast<const void*>(&kScalar)
                                                 : static_cast<const void*>(tensor->shape());
  return static_cast<TfLiteIntArray*>(const_cast<void*>(shape));
}

size_t NodeCount(const SubGraph* subgraph) {
  return subgraph->operators() == nullptr ? 0 : subgraph->operators()->size();
}

size_t RoundUp(size_t bytes) { return (bytes + kArenaAlignment - 1) & ~(kArenaAlignment - 1); }

void ExtendLifetime(BufferRequirement* lifetimes, const flatbuffers::Vector<int32_t>* tensors,
                    int16_t time) {
  for (size_t n = 0; tensors != nullptr && n < tensors->size(); ++n) {
    const int32_t index = tensors->Get(static_cast<flatbuffers::uoffset_t>(n));
    if (index < 0) {
      continue;
    }
    if (lifetimes[index].first_use == kNotUsed) {
      lifetimes[index].first_use = time;
    }
    if (time > lifetimes[index].last_use) {
      lifetimes[index].last_use = time;
    }
  }
}

}  // namespace

void* MicroAllocator::OptionsAllocator::Allocate(size_t size, size_t alignment_hint) {
  return owner_->Allocate(RecordedAllocationType::kOpData, size, alignment_hint, 1);
}

MicroAllocator::MicroAllocator(SingleArenaBufferAllocator* arena)
    : arena_(arena), builtin_data_(this) {}

MicroAllocator* MicroAllocator::Create(uint8_t* tensor_arena, size_t arena_size) {
  SingleArenaBufferAllocator on_stack(tensor_arena, arena_size);
  uint8_t* arena =
      on_stack.AllocatePersistentBuffer(sizeof(on_stack), alignof(SingleArenaBufferAllocator));
  if (arena == nullptr) {
    return nullptr;
  }
  auto* moved = new (arena) SingleArenaBufferAllocator(on_stack);
  uint8_t* self = moved->AllocatePersistentBuffer(sizeof(MicroAllocator), alignof(MicroAllocator));
  return self == nullptr ? nullptr : new (self) MicroAllocator(moved);
}

uint8_t* MicroAllocator::Allocate(RecordedAllocationType, size_t bytes, size_t alignment, size_t) {
  return arena_->AllocatePersistentBuffer(bytes, alignment);
}

void* MicroAllocator::AllocatePersistentBuffer(size_t bytes) {
  return Allocate(RecordedAllocationType::kPersistentBufferData, bytes, kArenaAlignment, 1);
}

TfLiteStatus MicroAllocator::StartModelAllocation(const Model* model) {
  const SubGraph* subgraph = model->subgraphs()->Get(0);
  const size_t tensor_count = subgraph->tensors()->size();
  eval_tensors_ = reinterpret_cast<TfLiteEvalTensor*>(
      Allocate(RecordedAllocationType::kTfLiteEvalTensorData,
               tensor_count * sizeof(TfLiteEvalTensor), alignof(TfLiteEvalTensor), tensor_count));
  if (eval_tensors_ == nullptr) {
    MicroPrintf("Failed to allocate memory for context->eval_tensors, %d bytes required",
                static_cast<int>(tensor_count * sizeof(TfLiteEvalTensor)));
    return kTfLiteError;
  }
  for (size_t n = 0; n < tensor_count; ++n) {
    const Tensor* tensor = subgraph->tensors()->Get(static_cast<flatbuffers::uoffset_t>(n));
    const auto* constant = ConstantData(model, tensor);
    TfLiteEvalTensor* eval = new (&eval_tensors_[n]) TfLiteEvalTensor{};
    eval->dims = Shape(tensor);
    eval->data.data = constant == nullptr ? nullptr : const_cast<uint8_t*>(constant->data());
    if (ConvertTensorType(tensor->type(), &eval->type) != kTfLiteOk) {
      MicroPrintf("Failed to initialize tensor %d", static_cast<int>(n));
      return kTfLiteError;
    }
  }
  const size_t node_count = NodeCount(subgraph);
  nodes_ = reinterpret_cast<NodeAndRegistration*>(
      Allocate(RecordedAllocationType::kNodeAndRegistrationArray,
               node_count * sizeof(NodeAndRegistration), alignof(NodeAndRegistration), node_count));
  if (nodes_ == nullptr) {
    MicroPrintf("Failed to allocate memory for node_and_registrations.");
    return kTfLiteError;
  }
  for (size_t n = 0; n < node_count; ++n) {
    new (&nodes_[n]) NodeAndRegistration{};
  }
  return kTfLiteOk;
}

TfLiteStatus MicroAllocator::StartPrepareNode(int node) {
  preparing_node_ = node;
  scratch_before_node_ = scratch_count_;
  return arena_->ResizeBuffer((scratch_count_ + kMaxScratchRequestsPerNode) *
                              sizeof(ScratchRequest));
}

void MicroAllocator::FinishPrepareNode() {
  arena_->ResetTempAllocations();
  // Shrinking to what was asked for can't fail.
  arena_->ResizeBuffer(scratch_count_ * sizeof(ScratchRequest));
}

TfLiteStatus MicroAllocator::RequestScratchBufferInArena(size_t bytes, int* buffer_idx) {
  if (scratch_count_ - scratch_before_node_ >= kMaxScratchRequestsPerNode) {
    MicroPrintf("Scratch buffer request exceeds limit per operator (%d)",
                static_cast<int>(kMaxScratchRequestsPerNode));
    return kTfLiteError;
  }
  scratch_requests()[scratch_count_] = {bytes, preparing_node_};
  *buffer_idx = static_cast<int>(scratch_count_++);
  return kTfLiteOk;
}

TfLiteStatus MicroAllocator::AllocateVariables(const SubGraph* subgraph) {
  for (size_t n = 0; n < subgraph->tensors()->size(); ++n) {
    if (!subgraph->tensors()->Get(static_cast<flatbuffers::uoffset_t>(n))->is_variable()) {
      continue;
    }
    const size_t bytes = TfLiteEvalTensorByteLength(&eval_tensors_[n]);
    eval_tensors_[n].data.raw = reinterpret_cast<char*>(Allocate(
        RecordedAllocationType::kTfLiteTensorVariableBufferData, bytes, kArenaAlignment, 1));
    if (eval_tensors_[n].data.raw == nullptr) {
      MicroPrintf("Failed to allocate variable tensor of size %d", static_cast<int>(bytes));
      return kTfLiteError;
    }
    std::memset(eval_tensors_[n].data.raw, 0, bytes);
  }
  return kTfLiteOk;
}

TfLiteStatus MicroAllocator::PlanTensors(const SubGraph* subgraph) {
  const size_t tensor_count = subgraph->tensors()->size();
  const size_t total = tensor_count + scratch_count_;
  // More than any prepare had, by one step of the arena's size: an arena that is just too small is
  // then refused here or later, in words about memory alone, and never inside an operator.
  const size_t in_use = arena_->GetNonPersistentUsedBytes();
  const size_t most = arena_->GetMostNonPersistentBytes() + kArenaAlignment;
  const size_t needed_here = total * sizeof(BufferRequirement);
  const size_t workspace = most > in_use + needed_here ? most - in_use : needed_here;
  auto* buffers = reinterpret_cast<BufferRequirement*>(
      arena_->AllocateTemp(workspace, alignof(BufferRequirement)));
  if (buffers == nullptr) {
    MicroPrintf("Failed to allocate memory for memory planning, %d bytes required",
                static_cast<int>(workspace));
    return kTfLiteError;
  }
  for (size_t n = 0; n < total; ++n) {
    buffers[n] = {0, kNotUsed, kNotUsed, 0, static_cast<uint16_t>(n), 0};
  }
  // Inputs are there before the first node, outputs stay after the last.
  const auto nodes = static_cast<int16_t>(NodeCount(subgraph));
  const int16_t last = nodes > 0 ? static_cast<int16_t>(nodes - 1) : 0;
  ExtendLifetime(buffers, subgraph->inputs(), 0);
  for (int16_t node = 0; node < nodes; ++node) {
    const Operator* op = subgraph->operators()->Get(static_cast<flatbuffers::uoffset_t>(node));
    ExtendLifetime(buffers, op->inputs(), node);
    ExtendLifetime(buffers, op->outputs(), node);
  }
  ExtendLifetime(buffers, subgraph->outputs(), last);
  for (size_t n = 0; n < scratch_count_; ++n) {
    const ScratchRequest& request = scratch_requests()[n];
    BufferRequirement& buffer = buffers[tensor_count + n];
    buffer.bytes = RoundUp(request.bytes);
    buffer.first_use = buffer.last_use = static_cast<int16_t>(request.node);
  }
  // Only what the graph writes and somebody uses takes part.
  size_t planned = 0;
  for (size_t n = 0; n < total; ++n) {
    if (n < tensor_count) {
      if (eval_tensors_[n].data.data != nullptr || buffers[n].first_use == kNotUsed) {
        continue;
      }
      buffers[n].bytes = RoundUp(TfLiteEvalTensorByteLength(&eval_tensors_[n]));
    }
    buffers[planned++] = buffers[n];
  }
  const size_t needed = PlanGreedily(buffers, planned);
  for (size_t n = 0; n < planned; ++n) {
    uint8_t* memory = arena_->planned() + buffers[n].offset;
    if (buffers[n].index < tensor_count) {
      eval_tensors_[buffers[n].index].data.raw = reinterpret_cast<char*>(memory);
    } else {
      scratch_buffers_[buffers[n].index - tensor_count] = memory;
    }
  }
  arena_->ResetTempAllocations();
  return arena_->ResizeBuffer(needed);
}

TfLiteStatus MicroAllocator::FinishModelAllocation(const Model* model) {
  const SubGraph* subgraph = model->subgraphs()->Get(0);
  TF_LITE_ENSURE_STATUS(AllocateVariables(subgraph));
  if (scratch_count_ > 0) {
    scratch_buffers_ = reinterpret_cast<uint8_t**>(Allocate(RecordedAllocationType::kOpData,
                                                            scratch_count_ * sizeof(uint8_t*),
                                                            alignof(uint8_t*), scratch_count_));
    if (scratch_buffers_ == nullptr) {
      return kTfLiteError;
    }
  }
  return PlanTensors(subgraph);
}

TfLiteStatus MicroAllocator::Fill(const Model* model, int tensor_index, bool temporary,
                                  TfLiteTensor* tensor) {
  const Tensor* from =
      model->subgraphs()->Get(0)->tensors()->Get(static_cast<flatbuffers::uoffset_t>(tensor_index));
  const TfLiteEvalTensor& eval = eval_tensors_[tensor_index];
  *tensor = TfLiteTensor{};
  tensor->type = eval.type;
  tensor->dims = eval.dims;
  tensor->data = eval.data;
  tensor->bytes = TfLiteEvalTensorByteLength(&eval);
  tensor->is_variable = from->is_variable();
  tensor->allocation_type = ConstantData(model, from) != nullptr ? kTfLiteMmapRo : kTfLiteArenaRw;
  const QuantizationParameters* quantization = from->quantization();
  if (quantization == nullptr || quantization->scale() == nullptr ||
      quantization->scale()->size() == 0 || quantization->zero_point() == nullptr ||
      quantization->zero_point()->size() == 0) {
    return kTfLiteOk;
  }
  tensor->params.scale = quantization->scale()->Get(0);
  tensor->params.zero_point = static_cast<int32_t>(quantization->zero_point()->Get(0));
  // Scales are used where they lie; zero points are 64 bits wide there and are copied.
  const size_t channels = quantization->scale()->size();
  const size_t given = quantization->zero_point()->size();
  const size_t bytes = sizeof(TfLiteAffineQuantization) + sizeof(int) * (channels + 1);
  constexpr auto kType = RecordedAllocationType::kPersistentTfLiteTensorQuantizationData;
  uint8_t* memory = temporary ? arena_->AllocateTemp(bytes, alignof(TfLiteAffineQuantization))
                              : Allocate(kType, bytes, alignof(TfLiteAffineQuantization), 1);
  if (memory == nullptr) {
    return kTfLiteError;
  }
  auto* affine = new (memory) TfLiteAffineQuantization{};
  affine->scale = reinterpret_cast<TfLiteFloatArray*>(
      const_cast<flatbuffers::Vector<float>*>(quantization->scale()));
  affine->zero_point = reinterpret_cast<TfLiteIntArray*>(memory + sizeof(*affine));
  affine->zero_point->size = static_cast<int>(channels);
  for (size_t n = 0; n < channels; ++n) {
    const size_t source = n < given ? n : 0;
    affine->zero_point->data[n] = static_cast<int>(
        quantization->zero_point()->Get(static_cast<flatbuffers::uoffset_t>(source)));
  }
  affine->quantized_dimension = quantization->quantized_dimension();
  tensor->quantization = {kTfLiteAffineQuantization, affine};
  return kTfLiteOk;
}

TfLiteTensor* MicroAllocator::AllocatePersistentTfLiteTensor(const Model* model, int tensor_index) {
  auto* tensor =
      reinterpret_cast<TfLiteTensor*>(Allocate(RecordedAllocationType::kPersistentTfLiteTensorData,
                                               sizeof(TfLiteTensor), alignof(TfLiteTensor), 1));
  if (tensor == nullptr) {
    MicroPrintf("Failed to allocate memory for persistent TfLiteTensor");
    return nullptr;
  }
  return Fill(model, tensor_index, false, tensor) == kTfLiteOk ? tensor : nullptr;
}

TfLiteTensor* MicroAllocator::AllocateTempTfLiteTensor(const Model* model, int tensor_index) {
  auto* tensor = reinterpret_cast<TfLiteTensor*>(
      arena_->AllocateTemp(sizeof(TfLiteTensor), alignof(TfLiteTensor)));
  if (tensor == nullptr) {
    MicroPrintf("Failed to allocate temp. memory for tensor %d, subgraph %d", tensor_index, 0);
    return nullptr;
  }
  return Fill(model, tensor_index, true, tensor) == kTfLiteOk ? tensor : nullptr;
}

}  // namespace tflite
