// What both convolutions share: padding, requantization per channel, checks.
#ifndef TFLM_HIL_STANDALONE_CONVOLUTION_H_
#define TFLM_HIL_STANDALONE_CONVOLUTION_H_

#include <cstdint>

#include "tensorflow/lite/micro/kernels/fixed_point.h"
#include "tensorflow/lite/micro/kernels/kernel_util.h"

namespace tflite {

// Tensor numbers of both operators.
inline constexpr int kConvInput = 0;
inline constexpr int kConvFilter = 1;
inline constexpr int kConvBias = 2;
inline constexpr int kConvOutput = 0;

// Zeros before the first row or column. `output` is the model's own extent; SAME splits what is
// missing in two with the odd one at the end.
int PaddingBefore(TfLitePadding padding, int input, int filter, int stride, int dilation,
                  int output);

// What prepare works out once for invoke.
struct ConvolutionData {
  int pad_height;
  int pad_width;
  int32_t input_offset;
  int32_t output_offset;
  ActivationRange activation;
  QuantizedMultiplier* channels;  // one an output channel, in persistent memory
};

// Allocates and fills `data` for int8 tensors; `channels` is the number of output channels.
TfLiteStatus PrepareConvolution(TfLiteContext* context, TfLiteNode* node,
                                TfLiteFusedActivation activation, int channels,
                                ConvolutionData* data);

void* InitConvolution(TfLiteContext* context, const char* buffer, size_t length);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_CONVOLUTION_H_
