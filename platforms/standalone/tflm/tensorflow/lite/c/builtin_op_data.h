// Options of the builtin operators, as a kernel finds them in TfLiteNode::builtin_data.
#ifndef TFLM_HIL_STANDALONE_BUILTIN_OP_DATA_H_
#define TFLM_HIL_STANDALONE_BUILTIN_OP_DATA_H_

#include "tensorflow/lite/c/common.h"

typedef enum {
  kTfLitePaddingUnknown = 0,
  kTfLitePaddingSame,
  kTfLitePaddingValid,
} TfLitePadding;

typedef enum {
  kTfLiteActNone = 0,
  kTfLiteActRelu,
  kTfLiteActReluN1To1,
  kTfLiteActRelu6,
  kTfLiteActTanh,
  kTfLiteActSignBit,
  kTfLiteActSigmoid,
} TfLiteFusedActivation;

typedef struct {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  TfLiteFusedActivation activation;
  int dilation_width_factor;
  int dilation_height_factor;
} TfLiteConvParams;

typedef struct {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  int depth_multiplier;
  TfLiteFusedActivation activation;
  int dilation_width_factor;
  int dilation_height_factor;
} TfLiteDepthwiseConvParams;

typedef struct {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  int filter_width;
  int filter_height;
  TfLiteFusedActivation activation;
} TfLitePoolParams;

typedef struct {
  TfLiteFusedActivation activation;
  bool keep_num_dims;
} TfLiteFullyConnectedParams;

typedef struct {
  float beta;
} TfLiteSoftmaxParams;

typedef struct {
  int axis;
  TfLiteFusedActivation activation;
} TfLiteConcatenationParams;

typedef struct {
  TfLiteFusedActivation activation;
} TfLiteAddParams;

typedef struct {
  TfLiteFusedActivation activation;
} TfLiteMulParams;

typedef struct {
  bool keep_dims;
} TfLiteReducerParams;

// A mask has one bit a dimension.
typedef struct {
  int begin_mask;
  int end_mask;
  int ellipsis_mask;
  int new_axis_mask;
  int shrink_axis_mask;
  bool offset;  // the ends count from the begins
} TfLiteStridedSliceParams;

typedef struct {
  const char* container;  // null if the model gives none
  const char* shared_name;
} TfLiteVarHandleParams;

#endif  // TFLM_HIL_STANDALONE_BUILTIN_OP_DATA_H_
