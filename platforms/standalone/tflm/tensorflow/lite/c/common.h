// Tensors, nodes and the context that kernels see. Names and members are those of TFLM's public C
// interface in its static-memory form, so that an operator written for TFLM compiles unchanged.
#ifndef TFLM_HIL_STANDALONE_C_COMMON_H_
#define TFLM_HIL_STANDALONE_C_COMMON_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/lite/c/c_api_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// In a node's input list: the model leaves this input out.
#define kTfLiteOptionalTensor (-1)

// Length-prefixed arrays. A flatbuffers vector of 32-bit values has the same layout, so shapes and
// scales are used where they lie in the model.
typedef struct TfLiteIntArray {
  int size;
  int data[];
} TfLiteIntArray;

typedef struct TfLiteFloatArray {
  int size;
  float data[];
} TfLiteFloatArray;

typedef enum TfLiteQuantizationType {
  kTfLiteNoQuantization = 0,
  kTfLiteAffineQuantization = 1,
} TfLiteQuantizationType;

typedef struct TfLiteQuantization {
  TfLiteQuantizationType type;
  void* params;  // TfLiteAffineQuantization, or null
} TfLiteQuantization;

typedef struct TfLiteAffineQuantization {
  TfLiteFloatArray* scale;
  TfLiteIntArray* zero_point;
  int32_t quantized_dimension;
} TfLiteAffineQuantization;

typedef union TfLitePtrUnion {
  int32_t* i32;
  uint32_t* u32;
  int64_t* i64;
  uint64_t* u64;
  float* f;
  double* f64;
  char* raw;
  const char* raw_const;
  uint8_t* uint8;
  bool* b;
  int16_t* i16;
  uint16_t* ui16;
  int8_t* int8;
  void* data;
} TfLitePtrUnion;

typedef enum TfLiteAllocationType {
  kTfLiteMemNone = 0,
  kTfLiteMmapRo,
  kTfLiteArenaRw,
  kTfLiteArenaRwPersistent,
  kTfLiteDynamic,
  kTfLitePersistentRo,
  kTfLiteCustom,
} TfLiteAllocationType;

typedef struct TfLiteTensor {
  TfLiteQuantization quantization;
  TfLiteQuantizationParams params;  // of the whole tensor; the first channel's if per channel
  TfLitePtrUnion data;
  TfLiteIntArray* dims;
  size_t bytes;
  TfLiteType type;
  TfLiteAllocationType allocation_type;
  bool is_variable;
} TfLiteTensor;

// What a kernel needs of a tensor while the graph runs.
typedef struct TfLiteEvalTensor {
  TfLitePtrUnion data;
  TfLiteIntArray* dims;
  TfLiteType type;
} TfLiteEvalTensor;

typedef struct TfLiteNode {
  TfLiteIntArray* inputs;
  TfLiteIntArray* outputs;
  TfLiteIntArray* intermediates;
  void* user_data;     // what the kernel's init returned
  void* builtin_data;  // the operator's options, parsed
  const void* custom_initial_data;
  int custom_initial_data_size;
} TfLiteNode;

typedef struct TfLiteContext {
  size_t tensors_size;
  TfLiteTensor* tensors;
  void* impl_;  // the MicroContext behind this context
  void (*ReportError)(struct TfLiteContext*, const char* msg, ...);
  void* profiler;
  void* (*AllocatePersistentBuffer)(struct TfLiteContext* ctx, size_t bytes);
  TfLiteStatus (*RequestScratchBufferInArena)(struct TfLiteContext* ctx, size_t bytes,
                                              int* buffer_idx);
  void* (*GetScratchBuffer)(struct TfLiteContext* ctx, int buffer_idx);
  TfLiteTensor* (*GetTensor)(const struct TfLiteContext* context, int tensor_idx);
  TfLiteEvalTensor* (*GetEvalTensor)(const struct TfLiteContext* context, int tensor_idx);
} TfLiteContext;

// The type's name as TFLite spells it ("INT8"), "Unknown type" for a number that is none.
const char* TfLiteTypeGetName(TfLiteType type);

#ifdef __cplusplus
}
#endif

#ifndef TF_LITE_STRIP_ERROR_STRINGS
#define TF_LITE_KERNEL_LOG(context, ...) (context)->ReportError((context), __VA_ARGS__)
#else
#define TF_LITE_KERNEL_LOG(context, ...) ((void)(context))
#endif

#define TF_LITE_ENSURE_MSG(context, value, ...)   \
  do {                                            \
    if (!(value)) {                               \
      TF_LITE_KERNEL_LOG((context), __VA_ARGS__); \
      return kTfLiteError;                        \
    }                                             \
  } while (0)

#define TF_LITE_ENSURE(context, a) \
  TF_LITE_ENSURE_MSG(context, a, "%s:%d %s was not true.", __FILE__, __LINE__, #a)

#define TF_LITE_ENSURE_STATUS(a)              \
  do {                                        \
    const TfLiteStatus ensured_status_ = (a); \
    if (ensured_status_ != kTfLiteOk) {       \
      return ensured_status_;                 \
    }                                         \
  } while (0)

#define TF_LITE_ENSURE_OK(context, status) TF_LITE_ENSURE_STATUS(status)

#define TF_LITE_ENSURE_EQ(context, a, b)                                                           \
  TF_LITE_ENSURE_MSG(context, (a) == (b), "%s:%d %s != %s (%d != %d)", __FILE__, __LINE__, #a, #b, \
                     static_cast<int>(a), static_cast<int>(b))

#define TF_LITE_ENSURE_TYPES_EQ(context, a, b)                                                     \
  TF_LITE_ENSURE_MSG(context, (a) == (b), "%s:%d %s != %s (%s != %s)", __FILE__, __LINE__, #a, #b, \
                     TfLiteTypeGetName(a), TfLiteTypeGetName(b))

#endif  // TFLM_HIL_STANDALONE_C_COMMON_H_
