#include "tensorflow/lite/micro/kernels/fixed_point.h"

#include <cstring>
#include <limits>

namespace tflite {
namespace {

// a * b in fixed point where the integer bits of both add up to those of the result.
int32_t Mul(int32_t a, int32_t b) { return DoublingHighMul(a, b); }

// exp(a) for a in [-1/4, 0), Q0.31: Taylor's series around -1/8 to the fourth order.
int32_t ExpOnSmallInterval(int32_t a) {
  constexpr int32_t kExpOfMinusEighth = 1895147668;  // exp(-1/8) * 2^31
  constexpr int32_t kThird = 715827883;              // 1/3 * 2^31
  const int32_t x = a + (1 << 28);
  const int32_t x2 = Mul(x, x);
  const int32_t x3 = Mul(x2, x);
  const int32_t x4 = Mul(x2, x2);
  const int32_t x4_over_4 = RoundingShiftRight(x4, 2);
  const int32_t higher = RoundingShiftRight(Mul(x4_over_4 + x3, kThird) + x2, 1);
  return kExpOfMinusEighth + Mul(kExpOfMinusEighth, x + higher);
}

}  // namespace

QuantizedMultiplier Quantize(double real) {
  uint64_t bits;
  std::memcpy(&bits, &real, sizeof(bits));
  const int exponent = static_cast<int>((bits >> 52) & 0x7FF);
  if (exponent == 0) {
    return {0, 0};  // zero, and numbers far below what the shift can reach
  }
  // real = mantissa * 2^(shift - 53) with the mantissa in [2^52, 2^53).
  const uint64_t mantissa = (bits & ((1ULL << 52) - 1)) | (1ULL << 52);
  int shift = exponent - 1022;
  uint64_t rounded = (mantissa + (1ULL << 21)) >> 22;
  if (rounded == (1ULL << 31)) {
    rounded >>= 1;
    ++shift;
  }
  if (shift < -31) {
    return {0, 0};
  }
  return {static_cast<int32_t>(rounded), shift};
}

int32_t SaturatingShiftLeft(int32_t x, int exponent) {
  const int64_t shifted = static_cast<int64_t>(x) * (1LL << exponent);
  if (shifted > INT32_MAX) {
    return INT32_MAX;
  }
  return shifted < INT32_MIN ? INT32_MIN : static_cast<int32_t>(shifted);
}

int32_t ExpOfNegative(int32_t a, int integer_bits) {
  const int32_t quarter = 1 << (31 - integer_bits - 2);
  // a = minus some quarters + a remainder in [-1/4, 0).
  const int32_t remainder = (a & (quarter - 1)) - quarter;
  int32_t result = ExpOnSmallInterval(SaturatingShiftLeft(remainder, integer_bits));
  const int32_t quarters = remainder - a;
  // exp(-2^n) * 2^31 for n = -2 .. 4: one factor for each bit of the quarters.
  static const int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                     39332535,   720401,     242};
  for (int n = 0; n < integer_bits + 2; ++n) {
    if (quarters & (quarter << n)) {
      result = Mul(result, kFactors[n]);
    }
  }
  return a == 0 ? INT32_MAX : result;
}

int32_t OneOverOnePlusX(int32_t x) {
  // Newton-Raphson division of 1 by the half denominator (1 + x) / 2, from 48/17 - 32/17 d, in
  // Q2.29; the half that is missing comes back in the last shift.
  constexpr int32_t k48Over17 = 1515870810;
  constexpr int32_t kMinus32Over17 = -1010580540;
  constexpr int32_t kOne = 1 << 29;
  // Rounded half sum of x and 1, halves away from zero.
  const int64_t sum = static_cast<int64_t>(x) + INT32_MAX;
  const int32_t half = static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t estimate = k48Over17 + Mul(half, kMinus32Over17);
  for (int n = 0; n < 3; ++n) {
    const int32_t error = kOne - Mul(half, estimate);
    estimate += SaturatingShiftLeft(Mul(estimate, error), 2);
  }
  return SaturatingShiftLeft(estimate, 1);
}

int32_t LogisticQ4(int32_t a) {
  if (a == 0) {
    return 1 << 30;
  }
  const int32_t positive_side = OneOverOnePlusX(ExpOfNegative(a > 0 ? -a : a, 4));
  return a > 0 ? positive_side : INT32_MAX - positive_side;
}

int InputRadius(int integer_bits, int left_shift) {
  const int64_t largest = ((1LL << integer_bits) - 1) << (31 - integer_bits);
  return static_cast<int>(largest >> left_shift);
}

TfLiteStatus QuantizedActivationRange(TfLiteContext* context, TfLiteFusedActivation activation,
                                      const TfLiteTensor* output, ActivationRange* range) {
  const float scale = output->params.scale;
  const int32_t zero_point = output->params.zero_point;
  const auto quantized = [&](float real) { return zero_point + RoundToInt(real / scale); };
  int32_t low = INT8_MIN;
  int32_t high = INT8_MAX;
  switch (activation) {
    case kTfLiteActNone:
      break;
    case kTfLiteActRelu:
      low = quantized(0.0f);
      break;
    case kTfLiteActRelu6:
      low = quantized(0.0f);
      high = quantized(6.0f);
      break;
    case kTfLiteActReluN1To1:
      low = quantized(-1.0f);
      high = quantized(1.0f);
      break;
    default:
      TF_LITE_ENSURE_MSG(context, false, "fused activation %d is not supported",
                         static_cast<int>(activation));
  }
  range->min = low > INT8_MIN ? low : INT8_MIN;
  range->max = high < INT8_MAX ? high : INT8_MAX;
  return kTfLiteOk;
}

FloatActivationRange ActivationRangeOf(TfLiteFusedActivation activation) {
  switch (activation) {
    case kTfLiteActRelu:
      return {0.0f, std::numeric_limits<float>::max()};
    case kTfLiteActRelu6:
      return {0.0f, 6.0f};
    case kTfLiteActReluN1To1:
      return {-1.0f, 1.0f};
    default:
      return {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  }
}

int32_t RoundToInt(float x) {
  if (x >= 2147483648.0f) {
    return INT32_MAX;
  }
  if (x <= -2147483648.0f) {
    return INT32_MIN;
  }
  const auto whole = static_cast<int32_t>(x);
  const float fraction = x - static_cast<float>(whole);  // exact
  return whole + (fraction >= 0.5f ? 1 : 0) - (fraction <= -0.5f ? 1 : 0);
}

}  // namespace tflite
