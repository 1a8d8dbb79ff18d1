"""Fixed-point functions: gemmlowp's for 8 bits, the lookup tables of TensorFlow Lite for 16 bits.

Source: gemmlowp ``fixedpoint/fixedpoint.h``. A number with i integer bits (``Q(i).(31-i)``) is an
int32 ``raw`` with the value raw / 2^(31-i); products are saturating rounding doubling high
multiplies. All arrays are int64 with int32 values, of any shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from harness.reference.arrays import Array
from harness.reference.quantization import round_away
from harness.reference.scale import doubling_high_multiply, rounding_right_shift, wrap32

_ONE = (1 << 31) - 1  # the largest Q0.31 number; gemmlowp's 1
_HALF = 1 << 30


def _q31(real: float) -> int:
    return math.floor(real * (1 << 31) + 0.5)


#: exp(-2^k) for k = -2 .. 4, Q0.31: the factors selected by the bits of an exponent.
_FACTORS = tuple((k, _q31(math.exp(-(2.0**k)))) for k in range(-2, 5))
_EXP_EIGHTH = _q31(math.exp(-0.125))
_THIRD = _q31(1 / 3)
#: 48/17 and -32/17 in Q2.29: the first guess of a Newton-Raphson division.
_48_17 = math.floor(48 / 17 * (1 << 29) + 0.5)
_32_17 = -math.floor(32 / 17 * (1 << 29) + 0.5)


def shift_left(x: Array, exponent: Array | int) -> Array:
    """x * 2^exponent, saturated to 32 bits."""
    return np.asarray(np.minimum(np.maximum(x << exponent, -(1 << 31)), _ONE))


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
    half_denominator = (a + _ONE + 1) >> 1
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


def inverse_root(x: Array) -> tuple[Array, Array]:
    """``(r, e)`` with 1 / sqrt(x) = r / 2^31 / 2^e for int32 values x; 0 counts as 1.

    Five Newton-Raphson steps from the guess 1 with three integer bits. Source: TensorFlow Lite's
    ``GetInvSqrtQuantizedMultiplierExp``.
    """
    shift = np.full(x.shape, 11, np.int64)
    value = np.maximum(x, 2)
    for _ in range(2):  # an int32 needs no more
        large = value >= 1 << 29
        value, shift = np.where(large, value // 4, value), shift + large
    pairs = (31 - np.frexp(value.astype(np.float64))[1].astype(np.int64)) // 2 - 1
    value, shift = value << 2 * pairs, shift - pairs
    half = rounding_right_shift(value >> 1, 1)
    three_halves = 3 << 27
    root = np.full(x.shape, 1 << 28, np.int64)
    for _ in range(5):
        cube = doubling_high_multiply(doubling_high_multiply(root, root), root)
        cube = shift_left(cube, 6)
        step = doubling_high_multiply(root, three_halves) - doubling_high_multiply(half, cube)
        root = shift_left(wrap32(step), 3)
    root = doubling_high_multiply(root, _ROOT_HALF)
    root = np.where(shift < 0, wrap32(root << np.maximum(-shift, 0)), root)
    small = x <= 1
    return np.where(small, _ONE, root), np.where(small, 0, np.maximum(shift, 0))


_ROOT_HALF = _q31(math.sqrt(0.5))
_FOURTH_ROOT_HALF = _q31(math.sqrt(math.sqrt(0.5)))
_LOG_2 = _q31(math.log(2))
_ROOT_ROOT_2 = math.sqrt(math.sqrt(2))
#: The coefficients of a rational approximation of the logarithm about the fourth root of 1/2.
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = (
    _q31(factor)
    for factor in (
        11 / 240 * _ROOT_ROOT_2,
        1 / 20 * _ROOT_ROOT_2,
        2 / _ROOT_ROOT_2 - _ROOT_ROOT_2,
        1 / 4 * _ROOT_ROOT_2,
    )
)


def logarithm(x: Array, input_bits: int, output_bits: int) -> Array:
    """The natural logarithm of x >= 1 with ``input_bits``, with ``output_bits`` integer bits.

    Source: TensorFlow Lite's ``log_x_for_x_greater_than_or_equal_to_1``.
    """
    bits = output_bits + 1  # one more, because the final sum would saturate
    unit = 31 - bits
    quarter = rounding_right_shift(np.array(1 << 29), bits)

    def high(a: Array, b: Array | int) -> Array:
        return doubling_high_multiply(np.asarray(a), b)

    headroom = _headroom(x)
    first = shift_left(high(x << headroom, _ROOT_HALF), 1)
    power_first = (input_bits - (headroom + 1) << unit) + quarter
    scaled = high(x, _ROOT_HALF)
    headroom = _headroom(scaled)
    second = shift_left(x, headroom)
    power_second = (input_bits - headroom << unit) - quarter

    r = np.minimum(first, second)
    power = np.maximum(power_first, power_second)
    p = (r + _FOURTH_ROOT_HALF + 1) // 2
    q = 2 * (r - _FOURTH_ROOT_HALF)
    square = high(q, q)
    numerator = high(q, r) + high(high(q, square), _ALPHA_N)
    denominator = high(p, _ALPHA_I + q + high(square, _ALPHA_D)) + high(q, _ALPHA_F)
    inverse = one_over_one_plus_x(wrap32(denominator))
    fraction = high(rounding_right_shift(wrap32(numerator), bits), inverse)
    return shift_left(wrap32(high(power, _LOG_2) + fraction), bits - output_bits)


def _headroom(x: Array) -> Array:
    """The largest left shift of a positive int32 without overflow."""
    return 31 - np.frexp(x.astype(np.float64))[1].astype(np.int64)


def input_radius(integer_bits: int, left_shift: int) -> int:
    """The largest input magnitude within range after scaling (TFLite ``CalculateInputRadius``)."""
    top = ((1 << integer_bits) - 1) * float(1 << (31 - integer_bits))
    return math.floor(top / 2.0**left_shift)


_LN2 = np.float32(1) / np.log(np.float32(2))


def log2_of(scale: float) -> tuple[int, bool]:
    """log2, rounded, and whether it is exact within 0.001 (TFLite ``CheckedLog2``)."""
    exact = np.log(np.float32(scale)) * _LN2
    rounded = round_away(np.asarray(exact))
    return int(rounded), bool(abs(exact - rounded) < 1e-3)


_STEPS = 512
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1


def interpolated_table(
    function: Callable[[Array], Array],
    input_scale: np.float32,
    input_zero: int,
    output_scale: np.float32,
) -> Array:
    """A lookup table of ``function`` (float64 -> float64): 513 int16 values as int64.

    Each entry is corrected by half the error of the chord at its midpoint, which reduces the
    average interpolation error. The arithmetic is in single precision. Source: TensorFlow Lite's
    ``LUTPopulate``.
    """
    f32 = np.float32

    def real(x: Array) -> Array:
        return function(x.astype(np.float64)).astype(f32)

    first, last = (input_scale * f32(end - input_zero) for end in (_LOW, _HIGH))
    bottom, top = (output_scale * f32(end) for end in (_LOW, _HIGH))
    step = (last - first) / f32(_STEPS)
    inverse = f32(_HIGH - _LOW + 1) / (top - bottom)
    index = np.arange(_STEPS, dtype=f32)
    here = real(first + index * step)
    middle = real(first + index * step + step / f32(2))
    following = real(first + (index + f32(1)) * step)
    sample = round_away(here * inverse)
    chord = round_away((following * inverse + sample) / f32(2))
    bias = round_away((chord - round_away(middle * inverse)) / f32(2))
    end = round_away(real(np.array([last], f32)) * inverse)
    table = np.clip(np.concatenate([sample - bias, end]), _LOW, _HIGH)
    return np.asarray(table, np.int64)


def look_up(table: Array, x: Array) -> Array:
    """``table`` interpolated at int16 values ``x`` (int64): 7 fraction bits, halves up."""
    index = 256 + (x >> 7)
    base = table[index]
    slope = table[index + 1] - base
    return np.asarray(base + ((slope * (x & 127) + 64) >> 7))


@cache
def _sigmoid_table() -> Array:
    """sigmoid(i / 24) in 0.16 format for i = 0 .. 255.

    Each entry is reduced by half the error, at its midpoint, of the chord to the next entry; the
    last entry is the largest value of the type. This equals TensorFlow Lite's published table.
    """
    i = np.arange(256)

    def sigmoid(x: Array) -> Array:
        return 65536 / (1 + np.exp(-x / 24))

    chord_error = (sigmoid(i) + sigmoid(i + 1)) / 2 - sigmoid(i + 0.5)
    table = np.floor(sigmoid(i) - chord_error / 2 + 0.5).astype(np.int64)
    table[-1] = 65535
    table.setflags(write=False)
    return table


def sigmoid16(x: Array) -> Array:
    """sigmoid in Q0.15 of x, int64 in steps of 1/(3 * 2^12). Source: TFLite ``Logistic`` int16."""
    table = _sigmoid_table()
    magnitude = np.abs(x)
    index = np.minimum(magnitude >> 9, 254)  # beyond it all outputs round to one
    value = (table[index] << 9) + (magnitude & 511) * (table[index + 1] - table[index])
    value = np.where(x >= 0, value + (1 << 9), (1 << 25) - value + (1 << 9) - 1)
    return np.asarray(value >> 10)


def tanh16(x: Array) -> Array:
    """tanh in Q0.15 of x, int64 in steps of 1/(3 * 2^12). Source: TFLite ``Tanh`` int16.

    tanh(x) = 2 sigmoid(2x) - 1 from the same table.
    """
    table = _sigmoid_table()
    magnitude = np.abs(x)
    index = np.minimum(magnitude >> 8, 254)
    value = (table[index] << 8) + (magnitude & 255) * (table[index + 1] - table[index])
    value = np.where(magnitude >> 8 >= 255, 0xFFFF << 8, value)
    offset = (1 << 23) - (1 << 7)
    value = np.where(x >= 0, value - offset, -value + (1 << 23) + (1 << 7) - 1)
    return np.asarray(value >> 8)


def table_multiplier(scale: float, shifts: tuple[int, ...]) -> tuple[int, int]:
    """``(multiplier, right shift)`` from the scale ``scale`` to 1/(3 * 2^12).

    A scale of 2^(shift - 12), shift in ``shifts``, has an exact multiplier.
    """
    power, exact = log2_of(scale)
    if exact and 12 + power in shifts:
        return 3 << (12 + power), 0
    real = scale * 4096.0 * 3.0
    shift = 0
    while real <= 32767.0 / 2.0 and shift <= 30:
        shift += 1
        real *= 2.0
    return int(real), shift
