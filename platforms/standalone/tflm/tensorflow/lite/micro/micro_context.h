#ifndef TFLM_HIL_STANDALONE_MICRO_CONTEXT_H_
#define TFLM_HIL_STANDALONE_MICRO_CONTEXT_H_

#include <cstddef>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/compatibility.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"

namespace tflite {

class MicroResourceVariables;

// What an operator may ask of the interpreter that runs it. Memory and full tensors can be had in
// init and prepare, scratch buffers and eval tensors in invoke.
class MicroContext {
 public:
  virtual ~MicroContext() = default;

  // Memory for the interpreter's whole life; null if the arena is full.
  virtual void* AllocatePersistentBuffer(size_t bytes) = 0;

  // Memory that the operator has while it runs, shared with others at other times.
  virtual TfLiteStatus RequestScratchBufferInArena(size_t bytes, int* buffer_idx) = 0;
  virtual void* GetScratchBuffer(int buffer_idx) = 0;

  // A tensor with its quantization, in temporary memory: give it back before prepare returns.
  virtual TfLiteTensor* AllocateTempTfLiteTensor(int tensor_idx) = 0;
  TfLiteTensor* AllocateTempInputTensor(const TfLiteNode* node, int index);
  TfLiteTensor* AllocateTempOutputTensor(const TfLiteNode* node, int index);
  virtual void DeallocateTempTfLiteTensor(TfLiteTensor* tensor) = 0;

  virtual TfLiteEvalTensor* GetEvalTensor(int tensor_idx) = 0;

  // What the model remembers; null if the application gave the interpreter none.
  virtual MicroResourceVariables* resource_variables() = 0;

  // A pointer that the application hands to its operators.
  virtual TfLiteStatus set_external_context(void* external_context_payload) = 0;
  virtual void* external_context() = 0;

  TF_LITE_REMOVE_VIRTUAL_DELETE
};

inline MicroContext* GetMicroContext(const TfLiteContext* context) {
  return static_cast<MicroContext*>(context->impl_);
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_CONTEXT_H_
