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

// The options of either operator.
struct ConvolutionOptions {
  TfLitePadding padding;
  int stride_height, stride_width;
  int dilation_height, dilation_width;
  TfLiteFusedActivation activation;
};

template <typename Params>
ConvolutionOptions OptionsOf(const Params& params) {
  return {params.padding,
          params.stride_height,
          params.stride_width,
          params.dilation_height_factor,
          params.dilation_width_factor,
          params.activation};
}

// What prepare works out once for invoke.
struct ConvolutionData {
  int pad_height;
  int pad_width;
  int32_t input_offset;
  int32_t output_offset;
  ActivationRange activation;
  QuantizedMultiplier* channels;  // one an output channel, in persistent memory
};

// Checks int8 tensors and fills `data`; `channels` is the filter's axis of output channels.
TfLiteStatus PrepareConvolution(TfLiteContext* context, TfLiteNode* node,
                                const ConvolutionOptions& options, int channels,
                                ConvolutionData* data);

// How the weights of one filter lie in memory: elements from one to the next.
struct FilterLayout {
  int channel;  // from one output channel's weights to the next one's
  int row;
  int column;
};

// Runs an int8 convolution. Every output channel reads `depth` neighbouring input channels; the
// output channels share them equally, one group after another.
void Convolve(TfLiteContext* context, TfLiteNode* node, const ConvolutionOptions& options,
              const ConvolutionData& data, const FilterLayout& layout, int depth);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_CONVOLUTION_H_
