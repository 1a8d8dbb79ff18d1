"""Fixed-point exponential, logistic and hyperbolic tangent, as gemmlowp defines them.

Source: gemmlowp ``fixedpoint/fixedpoint.h``. A number with i integer bits (``Q(i).(31-i)``) is an
int32 that stands for raw / 2^(31-i); products are saturating rounding doubling high multiplies.
All arrays here are int64 holding int32 values, of any shape.
"""

from __future__ import annotations

import math

import numpy as np

from harness.reference.fixedpoint import Array, doubling_high_multiply, rounding_right_shift, wrap32

_ONE = (1 << 31) - 1  # the largest Q0.31, which stands for 1
_HALF = 1 << 30


def _q31(real: float) -> int:
    return math.floor(real * (1 << 31) + 0.5)


#: exp(-2^k) for k = -2 .. 4, Q0.31: the factors that the bits of an exponent select.
_FACTORS = tuple((k, _q31(math.exp(-(2.0**k)))) for k in range(-2, 5))
_EXP_EIGHTH = _q31(math.exp(-0.125))
_THIRD = _q31(1 / 3)
#: 48/17 and -32/17 in Q2.29: the first guess of a Newton-Raphson division.
_48_17 = math.floor(48 / 17 * (1 << 29) + 0.5)
_32_17 = -math.floor(32 / 17 * (1 << 29) + 0.5)


def shift_left(x: Array, exponent: int) -> Array:
    """x * 2^exponent, saturated to 32 bits."""
    return np.asarray(np.clip(x << exponent, -(1 << 31), _ONE))


def _exp_between_minus_quarter_and_zero(a: Array) -> Array:
    """exp(a) in Q0.31 for a in [-1/4, 0), Q0.31: a Taylor polynomial about -1/8."""
    x = a + (1 << 28)
    x2 = doubling_high_multiply(x, x)
    x3 = doubling_high_multiply(x2, x)
    x4 = doubling_high_multiply(x2, x2)
    inner = rounding_right_shift(x4, 2) + x3
    tail = rounding_right_shift(doubling_high_multiply(inner, _THIRD) + x2, 1)
    return wrap32(_EXP_EIGHTH + doubling_high_multiply(x + tail, _EXP_EIGHTH))


def exp_on_negative_values(a: Array, integer_bits: int) -> Array:
    """exp(a) in Q0.31 for a <= 0 with ``integer_bits`` (at most 5) integer bits."""
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    low = (a & (quarter - 1)) - quarter
    result = _exp_between_minus_quarter_and_zero(shift_left(low, integer_bits))
    remainder = low - a
    for exponent, factor in _FACTORS:
        if exponent < integer_bits:
            chosen = (remainder & (1 << (fraction_bits + exponent))) != 0
            result = np.where(chosen, doubling_high_multiply(result, factor), result)
    return np.where(a == 0, _ONE, result)


def _half_reciprocal(a: Array) -> Array:
    """1 / ((1 + a) / 2) in Q2.29 for a in [0, 1], Q0.31: three Newton-Raphson steps."""
    total = a + _ONE
    half_denominator = (total + np.where(total >= 0, 1, -1)) // 2
    x = _48_17 + doubling_high_multiply(half_denominator, _32_17)
    for _ in range(3):
        error = (1 << 29) - doubling_high_multiply(half_denominator, x)
        x = x + shift_left(doubling_high_multiply(x, error), 2)
    return x


def one_over_one_plus_x(a: Array) -> Array:
    """1 / (1 + a) in Q0.31 for a in [0, 1], Q0.31."""
    return shift_left(_half_reciprocal(a), 1)


def logistic(a: Array, integer_bits: int) -> Array:
    """1 / (1 + exp(-a)) in Q0.31 for a with ``integer_bits`` integer bits."""
    positive = one_over_one_plus_x(exp_on_negative_values(-np.abs(a), integer_bits))
    return np.where(a == 0, _HALF, np.where(a > 0, positive, _ONE - positive))


def tanh(a: Array, integer_bits: int) -> Array:
    """tanh(a) in Q0.31 for a with ``integer_bits`` (at most 4) integer bits."""
    # exp(-2|a|): the doubling moves the binary point, the bits stay.
    e = exp_on_negative_values(-np.abs(a), integer_bits + 1)
    magnitude = shift_left(_half_reciprocal(e) - (1 << 29), 2)
    return np.where(a == 0, 0, np.where(a < 0, -magnitude, magnitude))


def reciprocal(x: Array, integer_bits: int) -> tuple[Array, Array]:
    """``(r, e)`` with 1 / x = r / 2^31 / 2^e, r in Q0.31, for x > 0 with ``integer_bits``.

    Source: TensorFlow Lite's ``GetReciprocal``.
    """
    bits = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    headroom = 32 - bits
    normalised = (x << headroom) - (1 << 31)
    return one_over_one_plus_x(normalised), integer_bits - headroom
