#ifndef TFLM_HIL_STANDALONE_MICRO_RESOURCE_VARIABLE_H_
#define TFLM_HIL_STANDALONE_MICRO_RESOURCE_VARIABLE_H_

#include <cstddef>
#include <cstdint>

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/micro/micro_allocator.h"

namespace tflite {

// Named buffers that keep their bytes from one inference to the next: what a streaming model
// remembers. The application makes them, with room for as many as the model has.
class MicroResourceVariables {
 public:
  // They lie in the allocator's arena; null (and a log line) if they do not fit.
  static MicroResourceVariables* Create(MicroAllocator* allocator, int num_variables);

  // The number of the variable with this name, a new one's if there is none. A null container
  // stands for any. Negative if there is no room for another.
  int CreateIdIfNoneFound(const char* container, const char* shared_name);

  // Gives a variable its memory, as much as the tensor has, unless it has some. It starts as the
  // tensor's zero point.
  TfLiteStatus Allocate(int id, TfLiteContext* context, const TfLiteTensor* tensor);

  // Copy the variable's bytes out or in. An error if the sizes are not equal.
  TfLiteStatus Read(int id, const TfLiteEvalTensor* tensor);
  TfLiteStatus Assign(int id, size_t count_bytes, const void* input_buffer);

  // All variables become what they started as.
  TfLiteStatus ResetAll();

 private:
  struct Variable {
    const char* container;
    const char* shared_name;
    uint8_t* data;  // null until it is allocated
    size_t bytes;
    uint8_t start;
  };

  MicroResourceVariables(Variable* variables, int capacity)
      : variables_(variables), capacity_(capacity) {}

  // Null if there is no such variable, or none of that size.
  Variable* Find(int id, size_t bytes) const;

  Variable* variables_;
  int capacity_;
  int count_ = 0;
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_RESOURCE_VARIABLE_H_
