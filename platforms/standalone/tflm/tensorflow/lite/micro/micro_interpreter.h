#ifndef TFLM_HIL_STANDALONE_MICRO_INTERPRETER_H_
#define TFLM_HIL_STANDALONE_MICRO_INTERPRETER_H_

#include <cstddef>
#include <cstdint>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/kernels/internal/tensor_ctypes.h"
#include "tensorflow/lite/micro/micro_allocator.h"
#include "tensorflow/lite/micro/micro_context.h"
#include "tensorflow/lite/micro/micro_op_resolver.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"
#include "tensorflow/lite/micro/micro_resource_variable.h"
#include "tensorflow/lite/portable_type_to_tflitetype.h"
#include "tensorflow/lite/schema/schema_generated.h"

// The file format's version that this runtime reads.
#define TFLITE_SCHEMA_VERSION (3)

namespace tflite {

// Runs a model: AllocateTensors() once, then Invoke() as often as wanted.
class MicroInterpreter {
 public:
  // All memory comes from the arena. Model, resolver and arena must outlive the interpreter.
  MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver, uint8_t* tensor_arena,
                   size_t tensor_arena_size, MicroResourceVariables* resource_variables = nullptr,
                   MicroProfilerInterface* profiler = nullptr);
  MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                   MicroAllocator* allocator, MicroResourceVariables* resource_variables = nullptr,
                   MicroProfilerInterface* profiler = nullptr);

  // Calls free of every operator that has state.
  ~MicroInterpreter();

  MicroInterpreter(const MicroInterpreter&) = delete;
  MicroInterpreter& operator=(const MicroInterpreter&) = delete;

  // Finds all operators, calls their init and prepare, plans the arena.
  TfLiteStatus AllocateTensors();

  // Runs every node in the model's order. Allocates first if that has not been done.
  TfLiteStatus Invoke();

  // Calls every operator's reset, clears variable tensors and sets resource variables back.
  TfLiteStatus Reset();

  TfLiteStatus SetMicroExternalContext(void* external_context_payload);

  // Null for an index that the model does not have, and before AllocateTensors() succeeded.
  TfLiteTensor* input(size_t index);
  TfLiteTensor* output(size_t index);
  TfLiteTensor* input_tensor(size_t index) { return input(index); }
  TfLiteTensor* output_tensor(size_t index) { return output(index); }

  size_t inputs_size() const { return subgraph()->inputs()->size(); }
  size_t outputs_size() const { return subgraph()->outputs()->size(); }
  const flatbuffers::Vector<int32_t>& inputs() const { return *subgraph()->inputs(); }
  const flatbuffers::Vector<int32_t>& outputs() const { return *subgraph()->outputs(); }

  // Null if the tensor is of another type.
  template <class T>
  T* typed_input_tensor(int tensor_index) {
    return Typed<T>(input(static_cast<size_t>(tensor_index)));
  }
  template <class T>
  T* typed_output_tensor(int tensor_index) {
    return Typed<T>(output(static_cast<size_t>(tensor_index)));
  }

  // Any tensor of the graph. Its memory may hold another tensor by the time Invoke() returns.
  TfLiteEvalTensor* GetTensor(int tensor_index, int subgraph_index = 0);

  TfLiteStatus initialization_status() const { return initialization_status_; }

  // Bytes of the arena in use; less than the arena that is needed while allocating.
  size_t arena_used_bytes() const { return allocator_ == nullptr ? 0 : allocator_->used_bytes(); }

 protected:
  const MicroAllocator& allocator() const { return *allocator_; }
  const TfLiteContext& context() const { return context_; }

 private:
  // What operators see of this interpreter.
  class Context : public MicroContext {
   public:
    explicit Context(MicroInterpreter* interpreter) : interpreter_(interpreter) {}
    void* AllocatePersistentBuffer(size_t bytes) override;
    TfLiteStatus RequestScratchBufferInArena(size_t bytes, int* buffer_idx) override;
    void* GetScratchBuffer(int buffer_idx) override;
    TfLiteTensor* AllocateTempTfLiteTensor(int tensor_idx) override;
    void DeallocateTempTfLiteTensor(TfLiteTensor* tensor) override;
    TfLiteEvalTensor* GetEvalTensor(int tensor_idx) override;
    MicroResourceVariables* resource_variables() override { return interpreter_->variables_; }
    TfLiteStatus set_external_context(void* external_context_payload) override;
    void* external_context() override { return external_context_; }

   private:
    MicroInterpreter* interpreter_;
    void* external_context_ = nullptr;

    TF_LITE_REMOVE_VIRTUAL_DELETE
  };

  template <class T>
  static T* Typed(TfLiteTensor* tensor) {
    return tensor != nullptr && tensor->type == typeToTfLiteType<T>() ? GetTensorData<T>(tensor)
                                                                      : nullptr;
  }

  const SubGraph* subgraph() const { return model_->subgraphs()->Get(0); }
  size_t node_count() const;
  void Init(MicroProfilerInterface* profiler);
  TfLiteStatus FindOperators();
  TfLiteStatus PrepareNodes();
  TfLiteStatus AllocateEnds(const flatbuffers::Vector<int32_t>& indices, const char* what,
                            TfLiteTensor*** tensors);

  const Model* model_;
  const MicroOpResolver& op_resolver_;
  TfLiteContext context_ = {};
  Context micro_context_;
  MicroAllocator* allocator_;
  MicroResourceVariables* variables_;
  TfLiteTensor** input_tensors_ = nullptr;
  TfLiteTensor** output_tensors_ = nullptr;
  TfLiteStatus initialization_status_ = kTfLiteError;
  bool tensors_allocated_ = false;
  size_t initialized_nodes_ = 0;
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_INTERPRETER_H_
