// Integer arithmetic of quantized kernels, from its published definitions: "Quantization and
// Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference" (Jacob et al.,
// CVPR 2018, section 2.2), gemmlowp's notes on fixed-point arithmetic and exponentials, and the
// TensorFlow Lite 8-bit quantization specification. Rounding is "double": the high half of the
// doubled product is rounded, then the shift is rounded again.
#ifndef TFLM_HIL_STANDALONE_FIXED_POINT_H_
#define TFLM_HIL_STANDALONE_FIXED_POINT_H_

#include <cstdint>

#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/c/common.h"

namespace tflite {

// A positive real number as multiplier * 2^(shift - 31), multiplier in [2^30, 2^31).
struct QuantizedMultiplier {
  int32_t multiplier;
  int shift;
};

// The nearest such number; 0 for 0 and for what is below 2^-32.
QuantizedMultiplier Quantize(double real);

// Half the doubled product's high word with rounding: round(a * b / 2^31), halves away from zero
// (in the product's own sign), saturating the one case that overflows.
inline int32_t DoublingHighMul(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) {
    return INT32_MAX;
  }
  const int64_t product = static_cast<int64_t>(a) * b;
  // Truncation towards zero of (product + nudge) / 2^31, written with an arithmetic shift.
  const int64_t nudged = product + (product >= 0 ? (1LL << 30) : 1 - (1LL << 30));
  const int64_t towards_zero = nudged < 0 ? (1LL << 31) - 1 : 0;
  return static_cast<int32_t>((nudged + towards_zero) >> 31);
}

// round(x / 2^exponent), halves away from zero; exponent in 0..31.
inline int32_t RoundingShiftRight(int32_t x, int exponent) {
  const int32_t mask = static_cast<int32_t>((1LL << exponent) - 1);
  const int32_t remainder = x & mask;
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

inline int32_t ShiftLeft(int32_t x, int bits) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) << bits);
}

// x times the quantized multiplier, with double rounding.
inline int32_t Multiply(int32_t x, QuantizedMultiplier by) {
  return by.shift > 0 ? DoublingHighMul(ShiftLeft(x, by.shift), by.multiplier)
                      : RoundingShiftRight(DoublingHighMul(x, by.multiplier), -by.shift);
}

// x * 2^exponent, saturating.
int32_t SaturatingShiftLeft(int32_t x, int exponent);

// Fixed-point functions. Qm.n: m integer bits, n = 31 - m fraction bits, one sign bit.

// exp(a) for a <= 0 with up to 5 integer bits; the result is Q0.31.
int32_t ExpOfNegative(int32_t a, int integer_bits);

// 1 / (1 + x) for x in [0, 1), both Q0.31.
int32_t OneOverOnePlusX(int32_t x);

// 1 / (1 + exp(-a)) for a in Q4.27; the result is Q0.31.
int32_t LogisticQ4(int32_t a);

// Largest magnitude that still fits `integer_bits` after a shift left by `left_shift`.
int InputRadius(int integer_bits, int left_shift);

struct ActivationRange {
  int32_t min;
  int32_t max;
};

// What a fused activation clamps an int8 output to; an error for activations other than the
// piecewise linear ones.
TfLiteStatus QuantizedActivationRange(TfLiteContext* context, TfLiteFusedActivation activation,
                                      const TfLiteTensor* output, ActivationRange* range);

struct FloatActivationRange {
  float min;
  float max;
};

FloatActivationRange ActivationRangeOf(TfLiteFusedActivation activation);

inline int32_t Clamp(int32_t x, ActivationRange range) {
  const int32_t at_least = x < range.min ? range.min : x;
  return at_least > range.max ? range.max : at_least;
}

inline float Clamp(float x, FloatActivationRange range) {
  const float at_least = x < range.min ? range.min : x;
  return at_least > range.max ? range.max : at_least;
}

// round(x), halves away from zero, for what fits 32 bits; saturates beyond.
int32_t RoundToInt(float x);

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_FIXED_POINT_H_
