"""RELU, RELU6, LEAKY_RELU, PRELU, ELU, HARD_SWISH, LOGISTIC, TANH.

Sources: TensorFlow Lite operator specification and reference kernels; tflite-micro, ``elu.cc``,
``prelu_common.cc``; gemmlowp's fixed-point functions for int8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from harness.reference import functions
from harness.reference.arrays import Array, aligned
from harness.reference.node import Node, Run
from harness.reference.quantization import limits, round_away
from harness.reference.scale import Clamp, Multiplier, quantize_multiplier, rounding_right_shift
from harness.reference.tables import elementwise

_INT8 = Clamp.whole(np.int8)
#: Limits of e^-x in the float reference's logistic function: above the first it uses e^x, below the
#: second 1.
_LOW_EXP, _HIGH_EXP = np.exp([9.0, -float(np.float32(16.619047164916992188))])


def _checked(node: Node, allowed: str, *, symmetric: bool = True) -> str:
    """The common type of input and output, which have one shape.

    ``symmetric``: int16 tensors must have the zero point 0. Raises BadModel, UnsupportedOperator.
    """
    dtype = node.check_types(allowed)
    node.check_output(node.input(0).shape)
    zeros = node.input(0).zero_point or node.output().zero_point
    if symmetric and dtype == "int16" and zeros:
        raise node.refused("int16 tensors must have the zero point 0")
    return dtype


def relu(node: Node) -> Run:
    """max(x, 0), of any shape. int8, int16 (both with rescaling), float32."""
    if _checked(node, "int8 int16 float32") == "float32":
        return elementwise(node, lambda x: np.where(x < 0, 0, x))
    x, output = node.input(0), node.output()
    ratio = node.precise(node.scale(x)) / node.precise(node.scale(output))
    low, high = limits(output.dtype)
    clamp = Clamp(max(low, output.zero_point), high, np.dtype(output.dtype))
    requantize = node.requantizer(float(ratio), clamp)
    return elementwise(node, lambda q: requantize(q - x.zero_point))


def relu6(node: Node) -> Run:
    """min(max(x, 0), 6), of any shape. int8, int16 (both in the input's quantization), float32."""
    if _checked(node, "int8 int16 float32", symmetric=False) == "float32":
        return elementwise(node, lambda x: np.where(x > 6, 6, np.where(x < 0, 0, x)))
    x = node.input(0)
    steps = round_away(np.float32(6) / np.asarray(node.scale(x), np.float32))
    low, high = limits(x.dtype)
    six = min(max(int(steps) + x.zero_point, low), high)
    zero = x.zero_point
    return elementwise(node, lambda q: np.where(q > six, six, np.where(q < zero, zero, q)))


def leaky_relu(node: Node) -> Run:
    """x for x > 0, else alpha * x, of any shape. int8, int16, float32."""
    alpha = np.float32(node.option("alpha"))
    if _checked(node, "int8 int16 float32", symmetric=False) == "float32":
        return elementwise(node, lambda x: np.where(x > 0, x, x * np.float64(alpha)))
    x, output = node.input(0), node.output()
    scale, target = node.precise(node.scale(x)), node.precise(node.scale(output))
    identity = node.multiplier(float(scale / target))
    slope = float(scale * node.precise(float(alpha)) / target)
    leak = node.multiplier(abs(slope))
    sign = -1 if slope < 0 else 1
    clamp = Clamp.whole(output.dtype)

    def quantized(q: Array) -> Array:
        centred = q - x.zero_point
        y = np.where(centred >= 0, identity.scale(centred), sign * leak.scale(centred))
        return clamp(y + output.zero_point)

    return elementwise(node, quantized)


def prelu(node: Node) -> Run:
    """x for x >= 0, else alpha * x; alpha (input 1) broadcasts. int8, int16 x int8, float32."""
    dtype = node.check_types("int8 int16 float32")
    x, alpha, output = node.input(0), node.input(1), node.output()
    if alpha.dtype != ("float32" if dtype == "float32" else "int8"):
        raise node.bad(f"its slopes are {alpha.dtype} for {dtype}")
    node.check_broadcast()
    rank = len(output.shape)
    if dtype == "float32":
        if rank > 4:
            raise node.unsupported("more than four axes are not supported")

        def real(values: Array, slopes: Array) -> Array:
            v = aligned(values, rank)
            return np.where(v >= 0, v, v * aligned(slopes, rank))

        return real
    identity = node.multiplier(node.scale(x) / node.scale(output))
    leak = node.multiplier(node.scale(x) * node.scale(alpha) / node.scale(output))
    clamp = Clamp.whole(dtype)

    def quantized(values: Array, slopes: Array) -> Array:
        q = aligned(values, rank).astype(np.int64) - x.zero_point
        slope = aligned(slopes, rank).astype(np.int64) - alpha.zero_point
        return clamp(np.where(q >= 0, identity.scale(q), leak.scale(q * slope)) + output.zero_point)

    return quantized


def elu(node: Node) -> Run:
    """x for x >= 0, else exp(x) - 1, of any shape. int8 (in single precision), float32."""
    dtype = node.check_types("int8 float32")
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if dtype == "float32":
        return elementwise(node, lambda v: np.where(v < 0, np.expm1(np.minimum(v, 0)), v))
    scale, inverse = np.float32(node.scale(x)), np.float32(1) / np.float32(node.scale(output))
    clamp = Clamp.whole(dtype)

    def quantized(q: Array) -> Array:
        real = scale * (q - x.zero_point).astype(np.float32)
        below = np.exp(np.minimum(real, 0).astype(np.float64)).astype(np.float32) - np.float32(1)
        steps = round_away(np.where(real < 0, below, real) * inverse)
        return clamp(steps + np.float32(output.zero_point))

    return elementwise(node, quantized)


def _int16_multiplier(real: float) -> tuple[int, int]:
    """A multiplier in Q0.15 and its shift."""
    multiplier, shift = quantize_multiplier(real)
    return min((multiplier + (1 << 15)) >> 16, 0x7FFF), shift


def hard_swish(node: Node) -> Run:
    """x * min(max(x + 3, 0), 6) / 6, of any shape. int8 in 16-bit fixed point, float32."""
    if _checked(node, "int8 float32") == "float32":
        return _hard_swish_real
    x, output = node.input(0), node.output()
    hires = node.precise(node.scale(x) / 128)
    to_output, output_shift = _int16_multiplier(float(hires / node.precise(node.scale(output))))
    to_relu, relu_shift = _int16_multiplier(float(hires / node.precise(3 / 32768)))
    if not -15 <= output_shift <= 0:
        raise node.bad(f"its scales differ by 2^{output_shift + 7}, too much for 16 bits")

    def high_multiply(a: Array, b: int) -> Array:
        return np.asarray(np.minimum((a * b + (1 << 14)) >> 15, 0x7FFF))

    def quantized(q: Array) -> Array:
        value = (q - x.zero_point) << 7
        on_output_scale = high_multiply(value, to_output)
        gate = value
        if relu_shift > 0:
            gate = _saturate16(gate << min(relu_shift - 1, 31))
        gate = high_multiply(gate, to_relu)
        if relu_shift > 0:
            gate = _saturate16(gate << 1)
        elif relu_shift < 0:
            gate = rounding_right_shift(gate, min(-relu_shift, 31))
        gate = (gate + (1 << 15)) >> 1
        product = gate * on_output_scale
        truncated = np.sign(product) * (np.abs(product) >> 15)
        return _INT8(rounding_right_shift(truncated, -output_shift) + output.zero_point)

    return elementwise(node, quantized)


def _saturate16(x: Array) -> Array:
    return np.asarray(np.clip(x, -(1 << 15), (1 << 15) - 1))


def _hard_swish_real(x: Array) -> Array:
    three, six = np.float32(3), np.float32(6)
    return np.asarray(x * np.minimum(six, np.maximum(np.float32(0), x + three)) / six)


def _fixed_point(
    node: Node, function: Callable[[Array, int], Array], fraction_bits: int, zero_point: int
) -> Run:
    """An int8 operator from a gemmlowp function of 4 integer bits.

    The output has ``fraction_bits`` fraction bits. Input scales of 8 or more saturate every value
    but the zero point.
    """
    x = node.input(0)
    mantissa, shift = math.frexp(node.scale(x) * (1 << 27))
    if shift < 0:
        raise node.bad(f"its input's scale {x.scale} is outside the range of TFLM's fixed point")
    raw = math.floor(mantissa * (1 << 31) + 0.5)
    multiplier = Multiplier(np.array(raw), np.array(min(shift, 30)), node.rounding)
    radius = functions.input_radius(4, shift)

    def quantized(q: Array) -> Array:
        centred = q - x.zero_point
        inside = np.clip(centred, -radius + 1, radius - 1) if radius > 0 else centred * 0
        raw_output = function(multiplier.scale(inside), 4)
        y = _INT8(rounding_right_shift(raw_output, 31 - fraction_bits) + zero_point)
        return np.where(centred <= -radius, -128, np.where(centred >= radius, 127, y))

    return elementwise(node, quantized)


def logistic(node: Node) -> Run:
    """1 / (1 + exp(-x)), of any shape. int8 (output zero point -128), int16, float32."""
    dtype = _checked(node, "int8 int16 float32")
    if dtype == "float32":
        return elementwise(node, _real_logistic)
    if dtype == "int8":
        if node.output().zero_point != -128:
            raise node.refused("an int8 LOGISTIC must have the output zero point -128")
        return _fixed_point(node, functions.logistic, 8, -128)
    return _from_table(node, functions.sigmoid16, shifts=(0,))


def _real_logistic(x: Array) -> Array:
    """TFLM's float logistic function: e^x for large e^-x, 1 for small e^-x."""
    e = np.exp(-x)
    return np.where(e < _HIGH_EXP, 1.0, np.where(e > _LOW_EXP, np.exp(x), 1 / (1 + e)))


def tanh(node: Node) -> Run:
    """tanh(x), of any shape. int8, int16, float32."""
    dtype = _checked(node, "int8 int16 float32")
    if dtype == "float32":
        return elementwise(node, np.tanh)
    if dtype == "int8":
        return _fixed_point(node, functions.tanh, 7, 0)
    return _from_table(node, functions.tanh16, shifts=(0, 1))


def _from_table(node: Node, function: Callable[[Array], Array], shifts: tuple[int, ...]) -> Run:
    """An int16 operator from a function of steps of 1/(3 * 2^12)."""
    multiplier, shift = functions.table_multiplier(node.scale(node.input(0)), shifts)
    if functions.log2_of(node.scale(node.output())) != (-15, True):
        raise node.refused(f"its output must have the scale 2^-15, not {node.output().scale}")
    half = 1 << (shift - 1) if shift else 0
    return elementwise(node, lambda q: function((q * multiplier + half) >> shift))
