#include "tensorflow/lite/micro/micro_interpreter.h"

#include <cstdarg>
#include <cstring>

#include "tensorflow/lite/micro/memory_helpers.h"
#include "tensorflow/lite/micro/micro_log.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"
#include "tensorflow/lite/schema/schema_utils.h"

namespace tflite {
namespace {

const char* OperatorName(const TFLMRegistration* registration) {
  return registration->builtin_code == BuiltinOperator_CUSTOM
             ? registration->custom_name
             : EnumNameBuiltinOperator(static_cast<BuiltinOperator>(registration->builtin_code));
}

// The model's lists of tensor indices are int arrays as they lie; a missing list is an empty one.
TfLiteIntArray* IntArray(const flatbuffers::Vector<int32_t>* list) {
  static const int kEmpty = 0;
  const void* array = list == nullptr ? static_cast<const void*>(&kEmpty) : list;
  return static_cast<TfLiteIntArray*>(const_cast<void*>(array));
}

#ifdef TF_LITE_STRIP_ERROR_STRINGS
void ReportError(TfLiteContext*, const char*, ...) {}
#else
void ReportError(TfLiteContext*, const char* text, ...) {
  va_list values;
  va_start(values, text);
  VMicroPrintf(text, values);
  va_end(values);
}
#endif

// Tells the profiler, if there is one, when a node runs.
TfLiteStatus InvokeNode(TfLiteContext* context, NodeAndRegistration& entry,
                        MicroProfilerInterface* profiler) {
  if (profiler == nullptr) return entry.registration->invoke(context, &entry.node);
  const uint32_t event = profiler->BeginEvent(OperatorName(entry.registration));
  const TfLiteStatus status = entry.registration->invoke(context, &entry.node);
  profiler->EndEvent(event);
  return status;
}

}  // namespace

void* MicroInterpreter::Context::AllocatePersistentBuffer(size_t bytes) {
  return interpreter_->allocator_->AllocatePersistentBuffer(bytes);
}

TfLiteStatus MicroInterpreter::Context::RequestScratchBufferInArena(size_t bytes, int* buffer_idx) {
  return interpreter_->allocator_->RequestScratchBufferInArena(bytes, buffer_idx);
}

void* MicroInterpreter::Context::GetScratchBuffer(int buffer_idx) {
  return interpreter_->allocator_->ScratchBuffer(buffer_idx);
}

TfLiteTensor* MicroInterpreter::Context::AllocateTempTfLiteTensor(int tensor_idx) {
  return interpreter_->allocator_->AllocateTempTfLiteTensor(interpreter_->model_, tensor_idx);
}

// All temporary memory is given back when prepare returns.
void MicroInterpreter::Context::DeallocateTempTfLiteTensor(TfLiteTensor*) {}

TfLiteEvalTensor* MicroInterpreter::Context::GetEvalTensor(int tensor_idx) {
  return &interpreter_->allocator_->eval_tensors()[tensor_idx];
}

TfLiteStatus MicroInterpreter::Context::set_external_context(void* external_context_payload) {
  if (external_context_payload == nullptr || external_context_ != nullptr) {
    MicroPrintf("Attempting to set external context to %p, but it was already set to %p",
                external_context_payload, external_context_);
    return kTfLiteError;
  }
  external_context_ = external_context_payload;
  return kTfLiteOk;
}

MicroInterpreter::MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                                   uint8_t* tensor_arena, size_t tensor_arena_size,
                                   MicroResourceVariables* resource_variables,
                                   MicroProfilerInterface* profiler)
    : model_(model),
      op_resolver_(op_resolver),
      micro_context_(this),
      allocator_(MicroAllocator::Create(tensor_arena, tensor_arena_size)),
      variables_(resource_variables) {
  Init(profiler);
}

MicroInterpreter::MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                                   MicroAllocator* allocator,
                                   MicroResourceVariables* resource_variables,
                                   MicroProfilerInterface* profiler)
    : model_(model),
      op_resolver_(op_resolver),
      micro_context_(this),
      allocator_(allocator),
      variables_(resource_variables) {
  Init(profiler);
}

MicroInterpreter::~MicroInterpreter() {
  for (size_t n = 0; n < initialized_nodes_; ++n) {
    NodeAndRegistration& entry = allocator_->nodes()[n];
    if (entry.registration->free != nullptr) {
      entry.registration->free(&context_, entry.node.user_data);
    }
  }
}

void MicroInterpreter::Init(MicroProfilerInterface* profiler) {
  context_.impl_ = static_cast<MicroContext*>(&micro_context_);
  context_.ReportError = ReportError;
  context_.profiler = profiler;
  context_.AllocatePersistentBuffer = [](TfLiteContext* context, size_t bytes) {
    return GetMicroContext(context)->AllocatePersistentBuffer(bytes);
  };
  context_.RequestScratchBufferInArena = [](TfLiteContext* context, size_t bytes, int* index) {
    return GetMicroContext(context)->RequestScratchBufferInArena(bytes, index);
  };
  context_.GetScratchBuffer = [](TfLiteContext* context, int index) {
    return GetMicroContext(context)->GetScratchBuffer(index);
  };
  context_.GetTensor = [](const TfLiteContext* context, int index) {
    return GetMicroContext(context)->AllocateTempTfLiteTensor(index);
  };
  context_.GetEvalTensor = [](const TfLiteContext* context, int index) {
    return GetMicroContext(context)->GetEvalTensor(index);
  };
  initialization_status_ = allocator_ == nullptr ? kTfLiteError : kTfLiteOk;
}

size_t MicroInterpreter::node_count() const {
  return subgraph()->operators() == nullptr ? 0 : subgraph()->operators()->size();
}

// Gives every node its registration, its lists of tensors and its options.
TfLiteStatus MicroInterpreter::FindOperators() {
  for (size_t n = 0; n < node_count(); ++n) {
    NodeAndRegistration& entry = allocator_->nodes()[n];
    const Operator* op = subgraph()->operators()->Get(static_cast<flatbuffers::uoffset_t>(n));
    if (model_->operator_codes() == nullptr ||
        op->opcode_index() >= model_->operator_codes()->size()) {
      MicroPrintf("Missing registration for opcode_index %d\n",
                  static_cast<int>(op->opcode_index()));
      return kTfLiteError;
    }
    const OperatorCode* code = model_->operator_codes()->Get(op->opcode_index());
    if (GetRegistrationFromOpCode(code, op_resolver_, &entry.registration) != kTfLiteOk) {
      MicroPrintf("Failed to get registration from op code %s\n ",
                  EnumNameBuiltinOperator(GetBuiltinCode(code)));
      return kTfLiteError;
    }
    TfLiteNode& node = entry.node;
    node.inputs = IntArray(op->inputs());
    node.outputs = IntArray(op->outputs());
    node.intermediates = IntArray(nullptr);
    const auto builtin = static_cast<BuiltinOperator>(entry.registration->builtin_code);
    if (builtin == BuiltinOperator_CUSTOM) {
      if (op->custom_options() != nullptr) {
        node.custom_initial_data = op->custom_options()->data();
        node.custom_initial_data_size = static_cast<int>(op->custom_options()->size());
      }
      continue;
    }
    const TfLiteBridgeBuiltinParseFunction parser = op_resolver_.GetOpDataParser(builtin);
    if (parser == nullptr) {
      MicroPrintf("Did not find a parser for %s", EnumNameBuiltinOperator(builtin));
      return kTfLiteError;
    }
    TF_LITE_ENSURE_STATUS(parser(op, allocator_->GetBuiltinDataAllocator(), &node.builtin_data));
  }
  return kTfLiteOk;
}

// init of all nodes, then prepare of all nodes.
TfLiteStatus MicroInterpreter::PrepareNodes() {
  for (size_t n = 0; n < node_count(); ++n) {
    NodeAndRegistration& entry = allocator_->nodes()[n];
    if (entry.registration->init != nullptr) {
      const bool custom = entry.registration->builtin_code == BuiltinOperator_CUSTOM;
      const void* options = custom ? entry.node.custom_initial_data : entry.node.builtin_data;
      const int length = custom ? entry.node.custom_initial_data_size : 0;
      entry.node.user_data = entry.registration->init(&context_, static_cast<const char*>(options),
                                                      static_cast<size_t>(length));
    }
    initialized_nodes_ = n + 1;
    // The log has said what did not fit; a prepare without its data would only say it again.
    TF_LITE_ENSURE_STATUS(allocator_->full() ? kTfLiteError : kTfLiteOk);
  }
  for (size_t n = 0; n < node_count(); ++n) {
    NodeAndRegistration& entry = allocator_->nodes()[n];
    if (entry.registration->prepare == nullptr) {
      continue;
    }
    TF_LITE_ENSURE_STATUS(allocator_->StartPrepareNode(static_cast<int>(n)));
    const TfLiteStatus status = entry.registration->prepare(&context_, &entry.node);
    allocator_->FinishPrepareNode();
    if (status != kTfLiteOk) {
      MicroPrintf("Node %s (number %u) failed to prepare with status %d",
                  OperatorName(entry.registration), static_cast<unsigned>(n), status);
      return kTfLiteError;
    }
  }
  return kTfLiteOk;
}

TfLiteStatus MicroInterpreter::AllocateEnds(const flatbuffers::Vector<int32_t>& indices,
                                            const char* what, TfLiteTensor*** tensors) {
  const size_t count = indices.size();
  *tensors = static_cast<TfLiteTensor**>(
      allocator_->AllocatePersistentBuffer(count * sizeof(TfLiteTensor*)));
  if (*tensors == nullptr) {
    MicroPrintf("Failed to allocate memory for context->%s_tensors_, %d bytes required", what,
                static_cast<int>(count * sizeof(TfLiteTensor*)));
    return kTfLiteError;
  }
  for (size_t n = 0; n < count; ++n) {
    (*tensors)[n] = allocator_->AllocatePersistentTfLiteTensor(
        model_, indices.Get(static_cast<flatbuffers::uoffset_t>(n)));
    if ((*tensors)[n] == nullptr) {
      MicroPrintf("Failed to initialize %s tensor %d", what, static_cast<int>(n));
      return kTfLiteError;
    }
  }
  return kTfLiteOk;
}

TfLiteStatus MicroInterpreter::AllocateTensors() {
  if (tensors_allocated_) {
    return kTfLiteOk;
  }
  if (initialization_status_ != kTfLiteOk) {
    MicroPrintf("Failed starting model allocation.\n");
    return kTfLiteError;
  }
  // Whatever fails from here on is final: the arena is not given back.
  initialization_status_ = kTfLiteError;
  if (allocator_->StartModelAllocation(model_) != kTfLiteOk) {
    MicroPrintf("Failed starting model allocation.\n");
    return kTfLiteError;
  }
  context_.tensors_size = subgraph()->tensors()->size();
  TF_LITE_ENSURE_STATUS(FindOperators());
  TF_LITE_ENSURE_STATUS(PrepareNodes());
  // The tensors that the application sees copy the memory's address, so the plan comes first.
  TF_LITE_ENSURE_STATUS(allocator_->FinishModelAllocation(model_));
  TF_LITE_ENSURE_STATUS(AllocateEnds(inputs(), "input", &input_tensors_));
  TF_LITE_ENSURE_STATUS(AllocateEnds(outputs(), "output", &output_tensors_));
  initialization_status_ = kTfLiteOk;
  tensors_allocated_ = true;
  return Reset();
}

TfLiteStatus MicroInterpreter::Invoke() {
  if (initialization_status_ != kTfLiteOk) {
    MicroPrintf("Invoke() called after initialization failed\n");
    return kTfLiteError;
  }
  if (!tensors_allocated_) {
    TF_LITE_ENSURE_STATUS(AllocateTensors());
  }
  auto* profiler = static_cast<MicroProfilerInterface*>(context_.profiler);
  for (size_t n = 0; n < node_count(); ++n) {
    NodeAndRegistration& entry = allocator_->nodes()[n];
    const TfLiteStatus status = InvokeNode(&context_, entry, profiler);
    if (status != kTfLiteOk) {
      MicroPrintf("Node %s (number %d) failed to invoke with status %d",
                  OperatorName(entry.registration), static_cast<int>(n), status);
      return status;
    }
  }
  return kTfLiteOk;
}

TfLiteStatus MicroInterpreter::Reset() {
  if (!tensors_allocated_) {
    return kTfLiteError;
  }
  for (size_t n = 0; n < node_count(); ++n) {
    NodeAndRegistration& entry = allocator_->nodes()[n];
    if (entry.registration->reset != nullptr) {
      entry.registration->reset(&context_, entry.node.user_data);
    }
  }
  for (size_t n = 0; n < subgraph()->tensors()->size(); ++n) {
    if (subgraph()->tensors()->Get(static_cast<flatbuffers::uoffset_t>(n))->is_variable()) {
      TfLiteEvalTensor& tensor = allocator_->eval_tensors()[n];
      std::memset(tensor.data.raw, 0, TfLiteEvalTensorByteLength(&tensor));
    }
  }
  return variables_ == nullptr ? kTfLiteOk : variables_->ResetAll();
}

TfLiteStatus MicroInterpreter::SetMicroExternalContext(void* external_context_payload) {
  return micro_context_.set_external_context(external_context_payload);
}

TfLiteTensor* MicroInterpreter::input(size_t index) {
  return input_tensors_ != nullptr && index < inputs_size() ? input_tensors_[index] : nullptr;
}

TfLiteTensor* MicroInterpreter::output(size_t index) {
  return output_tensors_ != nullptr && index < outputs_size() ? output_tensors_[index] : nullptr;
}

TfLiteEvalTensor* MicroInterpreter::GetTensor(int tensor_index, int subgraph_index) {
  if (!tensors_allocated_ || subgraph_index != 0 || tensor_index < 0 ||
      static_cast<size_t>(tensor_index) >= context_.tensors_size) {
    return nullptr;
  }
  return &allocator_->eval_tensors()[tensor_index];
}

}  // namespace tflite
