#include <cstring>

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/kernels/micro_ops.h"
#include "tensorflow/lite/micro/memory_helpers.h"

namespace tflite {
namespace {

constexpr int kDimensions = 5;

// Which places of one dimension are taken: `count` of them from `first` on.
struct Range {
  int first;
  int step;
  int count;
};

// Stretches of memory to copy. The outer dimensions, padded with ones at the front, say where each
// begins, in bytes; the inner ones that lie together are one stretch.
struct SliceData {
  int count[kDimensions];
  int step[kDimensions];
  int first;
  int stretch;
};

bool Bit(int mask, int index) { return (mask >> index & 1) != 0; }

int Limited(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

// Python's rule for begin:end:step of a dimension with `extent` places; `whole_begin` and
// `whole_end` stand for an end that is left out.
Range Resolve(int begin, int end, int step, int extent, bool whole_begin, bool whole_end) {
  const int low = step > 0 ? 0 : -1;
  const int high = step > 0 ? extent : extent - 1;
  const int from = Limited(begin < 0 ? begin + extent : begin, low, high);
  const int to = Limited(end < 0 ? end + extent : end, low, high);
  const int first = whole_begin ? (step > 0 ? low : high) : from;
  const int stop = whole_end ? (step > 0 ? high : low) : to;
  const int places =
      step > 0 ? (stop - first + step - 1) / step : (first - stop - step - 1) / -step;
  return {first, step, places > 0 ? places : 0};
}

// The range of dimension `index`, from the options and the three constant inputs.
TfLiteStatus RangeOf(TfLiteContext* context, const TfLiteNode* node, int index, int extent,
                     Range* range) {
  const auto& options = *static_cast<const TfLiteStridedSliceParams*>(node->builtin_data);
  int given[3];  // begin, end, step
  for (int n = 0; n < 3; ++n) {
    const TfLiteEvalTensor* list = micro::GetEvalInput(context, node, n + 1);
    TF_LITE_ENSURE_TYPES_EQ(context, list->type, kTfLiteInt32);
    TF_LITE_ENSURE(context, list->data.raw != nullptr);  // a constant of the model
    TF_LITE_ENSURE(context, index < ElementCount(*list->dims));
    given[n] = list->data.i32[index];
  }
  TF_LITE_ENSURE(context, given[2] != 0);
  if (Bit(options.shrink_axis_mask, index)) {
    const int place = given[0] < 0 ? given[0] + extent : given[0];
    TF_LITE_ENSURE(context, place >= 0 && place < extent);
    *range = {place, 1, 1};
    return kTfLiteOk;
  }
  *range = Resolve(given[0], given[1], given[2], extent, Bit(options.begin_mask, index),
                   Bit(options.end_mask, index));
  return kTfLiteOk;
}

TfLiteStatus Prepare(TfLiteContext* context, TfLiteNode* node) {
  auto* data = static_cast<SliceData*>(node->user_data);
  TF_LITE_ENSURE(context, data != nullptr);
  const auto& options = *static_cast<const TfLiteStridedSliceParams*>(node->builtin_data);
  TF_LITE_ENSURE_EQ(context, options.ellipsis_mask, 0);
  TF_LITE_ENSURE_EQ(context, options.new_axis_mask, 0);
  TF_LITE_ENSURE_EQ(context, options.offset, false);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  const TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  TF_LITE_ENSURE_TYPES_EQ(context, input->type, output->type);
  const TfLiteIntArray& shape = *input->dims;
  TF_LITE_ENSURE(context, shape.size <= kDimensions);
  size_t element = 0;
  TF_LITE_ENSURE_STATUS(TfLiteTypeSizeOf(input->type, &element));

  *data = {{1, 1, 1, 1, 1}, {}, 0, static_cast<int>(element)};
  bool together = true;
  int elements = 1;
  int bytes = static_cast<int>(element);  // from one place of the dimension to the next
  for (int index = shape.size - 1; index >= 0; --index) {
    const int extent = shape.data[index];
    Range range;
    TF_LITE_ENSURE_STATUS(RangeOf(context, node, index, extent, &range));
    data->first += range.first * bytes;
    elements *= range.count;
    if (together && range.step == 1) {
      data->stretch *= range.count;
    } else {
      const int outer = index + kDimensions - shape.size;
      data->count[outer] = range.count;
      data->step[outer] = range.step * bytes;
    }
    // Behind a dimension that is not taken whole, nothing lies together any more.
    together = together && range.step == 1 && range.count == extent;
    bytes *= extent;
  }
  TF_LITE_ENSURE_EQ(context, elements, ElementCount(*output->dims));
  return kTfLiteOk;
}

TfLiteStatus Invoke(TfLiteContext* context, TfLiteNode* node) {
  const auto& data = *static_cast<const SliceData*>(node->user_data);
  const TfLiteEvalTensor* input = micro::GetEvalInput(context, node, 0);
  TfLiteEvalTensor* output = micro::GetEvalOutput(context, node, 0);
  int stretches = 1;
  for (const int count : data.count) stretches *= count;
  int at[kDimensions] = {};
  const char* from = input->data.raw + data.first;
  char* to = output->data.raw;
  for (; stretches > 0; --stretches, to += data.stretch) {
    std::memcpy(to, from, static_cast<size_t>(data.stretch));
    // On to the next place, carrying as in counting.
    for (int d = kDimensions - 1; d >= 0; --d) {
      from += data.step[d];
      if (++at[d] < data.count[d]) break;
      from -= data.step[d] * data.count[d];
      at[d] = 0;
    }
  }
  return kTfLiteOk;
}

}  // namespace

TFLMRegistration Register_STRIDED_SLICE() { return micro::RegisterOp<SliceData>(Prepare, Invoke); }

}  // namespace tflite
