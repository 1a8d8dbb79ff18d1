#ifndef TFLM_HIL_STANDALONE_RUNTIME_SHAPE_H_
#define TFLM_HIL_STANDALONE_RUNTIME_SHAPE_H_

#include <cstdint>

namespace tflite {

// A shape by value: the number of dimensions and their extents.
class RuntimeShape {
 public:
  static constexpr int kMaxDimensions = 6;

  RuntimeShape() = default;
  RuntimeShape(int dimensions_count, const int* dims_data) : count_(dimensions_count) {
    for (int n = 0; n < count_ && n < kMaxDimensions; ++n) {
      dims_[n] = dims_data[n];
    }
  }

  int32_t DimensionsCount() const { return count_; }
  int32_t Dims(int n) const { return dims_[n]; }
  const int32_t* DimsData() const { return dims_; }

  int FlatSize() const {
    int size = 1;
    for (int n = 0; n < count_; ++n) {
      size *= dims_[n];
    }
    return size;
  }

  bool operator==(const RuntimeShape& other) const {
    for (int n = 0; n < count_; ++n) {
      if (n >= other.count_ || dims_[n] != other.dims_[n]) {
        return false;
      }
    }
    return count_ == other.count_;
  }

 private:
  int32_t count_ = 0;
  int32_t dims_[kMaxDimensions] = {};
};

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_RUNTIME_SHAPE_H_
