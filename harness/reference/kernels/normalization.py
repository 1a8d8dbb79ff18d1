"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION over the last axis.

Sources: TensorFlow Lite operator specification (int8 SOFTMAX: output scale 1/256, zero point -128);
tflite-micro, ``l2norm.cc``, ``log_softmax.cc`` and the reference kernels of these names; gemmlowp's
exponential with 5 integer bits for int8, an interpolated table for int16.
"""

from __future__ import annotations

import numpy as np

from harness.reference import functions
from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.scale import (
    Clamp,
    Multiplier,
    doubling_high_multiply,
    quantize_multiplier,
    rounding_right_shift,
    wrap32,
)

_INT8 = Clamp.whole(np.int8)
_INTEGER_BITS, _ACCUMULATOR_BITS = 5, 12
_RESULT_BITS = 4  # of LOG_SOFTMAX
_EPSILON = np.float32(1e-6)
_OUTPUT_BITS = 7  # int8 results of L2_NORMALIZATION are in steps of 1/128


def softmax(node: Node) -> Run:
    """exp(beta * x) / sum, of any shape. int8 -> int8 or int16, int16, float32."""
    x, output = node.input(0), node.output()
    if not x.shape:
        raise node.bad("its input is a scalar")
    node.check_output(x.shape)
    kinds = {
        ("float32", "float32"): _real,
        ("int8", "int8"): _int8,
        ("int8", "int16"): _int8,
        ("int16", "int16"): _int16,
    }
    make = kinds.get((x.dtype, output.dtype))
    if make is None:
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    _check_output_scale(node)
    return make(node)


def _check_output_scale(node: Node) -> None:
    x, output = node.input(0), node.output()
    if output.dtype == "float32":
        return
    if x.dtype == "int8" and output.dtype == "int8":
        fits = output.scale == 1 / 256 and output.zero_point == -128
    else:
        scale, zero = (2.0**-16, -32768) if x.dtype == "int8" else (2.0**-15, 0)
        fits = abs(output.scale - scale) <= 0.001 * scale and output.zero_point == zero
    if not fits or (x.dtype == "int16" and x.zero_point):
        raise node.refused(
            f"its output's scale {output.scale} or zero point {output.zero_point} is not SOFTMAX's"
        )


def _real(node: Node) -> Run:
    beta = float(node.option("beta"))

    def run(x: Array) -> Array:
        x = x.astype(np.float64)
        e = np.exp((x - x.max(axis=-1, keepdims=True, initial=-np.inf)) * beta)
        return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float32)

    return run


def _int8(node: Node) -> Run:
    x, output = node.input(0), node.output()
    limit = (1 << 30 if node.rounding == "single" else 1 << 31) - 1.0
    real = min(node.option("beta") * node.scale(x) * (1 << (31 - _INTEGER_BITS)), limit)
    if not real > 1:
        raise node.bad(f"beta {node.option('beta')} with the scale {x.scale} is too small")
    multiplier = node.multiplier(float(real))
    lowest = -functions.input_radius(_INTEGER_BITS, int(multiplier.shift))
    # The exponentials of the 256 differences from the largest element of a row.
    differences = -np.arange(256, dtype=np.int64)
    counted = differences >= lowest
    scaled = multiplier.scale(np.where(counted, differences, 0))
    exponentials = functions.exp_on_negative_values(scaled, _INTEGER_BITS)
    exponentials = np.where(counted, exponentials, 0)
    shares = rounding_right_shift(exponentials, _ACCUMULATOR_BITS)
    bits, clamp = 8 * np.dtype(output.dtype).itemsize, Clamp.whole(output.dtype)
    most = min(2 << bits, 2 << _ACCUMULATOR_BITS)  # TFLM aborts for this sum, or a larger one

    def run(q: Array) -> Array:
        q = q.astype(np.int64)
        index = q.max(axis=-1, keepdims=True, initial=-128) - q
        total = shares[index].sum(axis=-1, keepdims=True) & 0xFFFFFFFF  # wraps as on the device
        inverse, over = functions.reciprocal(total, _ACCUMULATOR_BITS)
        if np.any((over > bits) | (total == 0)):  # the last shift would exceed 31
            raise node.aborts(f"its exponentials' sum is {most} or more")
        y = doubling_high_multiply(exponentials[index], inverse)
        y = rounding_right_shift(y, over + 31 - bits)
        return clamp(y + clamp.low)

    return run


def _int16(node: Node) -> Run:
    x = node.input(0)
    span = np.float32(65535)
    two = np.float32(2) / span
    exponential = functions.interpolated_table(np.exp, np.float32(10) / span, 32767, two)
    inverse = functions.interpolated_table(lambda v: 1 / (1 + v), np.float32(1) / span, -32768, two)
    real = node.scale(x) * float(np.float32(node.option("beta"))) / (10.0 / 65535.0)
    multiplier = node.multiplier(real)

    def run(q: Array) -> Array:
        q = q.astype(np.int64)
        scaled = multiplier.scale(q - q.max(axis=-1, keepdims=True, initial=-(1 << 15)))
        e = functions.look_up(exponential, np.clip(scaled + 32767, -32768, 32767))
        total = wrap32(e.sum(axis=-1, keepdims=True))
        headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
        shifted = ((total << (headroom - 1)) + (1 << 13)) >> 14
        centred = np.clip(shifted - (1 << 15) - (1 << 16), -32768, 32767)
        reciprocal = functions.look_up(inverse, centred)
        right = 31 - headroom
        y = (e * reciprocal + (np.int64(1) << (right - 1))) >> right
        return np.asarray(np.clip(y, 0, 32767), np.int16)

    return run


def log_softmax(node: Node) -> Run:
    """x - log(sum exp x). int8 (output scale 1/16, zero point 127), float32."""
    dtype = node.check_types("int8 float32")
    x, output = node.input(0), node.output()
    if not x.shape:
        raise node.bad("its input is a scalar")
    node.check_output(x.shape)
    if dtype == "float32":
        return _log_softmax_real
    if (output.scale, output.zero_point) != (1 / 16, 127):
        raise node.refused(
            f"its output has the scale {output.scale} and the zero point {output.zero_point},"
            " not 1/16 and 127"
        )
    limit = (1 << 30 if node.rounding == "single" else 1 << 31) - 1.0
    real = min(node.scale(x) * (1 << (31 - _INTEGER_BITS)), limit)
    if not real > 1:
        raise node.bad(f"its input's scale {x.scale} is too small")
    multiplier = node.multiplier(real)
    left = int(multiplier.shift)
    lowest = -functions.input_radius(_INTEGER_BITS, left)
    reverse, reverse_shift = quantize_multiplier((1 << (31 - left)) / float(multiplier.multiplier))
    differences = -np.arange(256, dtype=np.int64)
    counted = differences >= lowest
    scaled = multiplier.scale(differences)
    exponentials = functions.exp_on_negative_values(np.where(counted, scaled, 0), _INTEGER_BITS)
    shares = np.where(counted, rounding_right_shift(exponentials, _ACCUMULATOR_BITS), 0)
    back = Multiplier(np.array(reverse), np.array(reverse_shift), node.rounding)

    def run(q: Array) -> Array:
        q = q.astype(np.int64)
        index = q.max(axis=-1, keepdims=True, initial=-128) - q
        total = shares[index].sum(axis=-1, keepdims=True)
        if np.any(total >= 1 << 31):
            raise node.bad(f"its exponentials' sum is {1 << _ACCUMULATOR_BITS} or more")
        log = functions.logarithm(total, _ACCUMULATOR_BITS, _INTEGER_BITS)
        smallest = np.maximum(lowest - 1, back.scale(log - (1 << 31)))
        y = rounding_right_shift(wrap32(scaled[index] - log), 31 - _INTEGER_BITS - _RESULT_BITS)
        return np.where(-index > smallest, _INT8(y + 127), np.int8(-128))

    return run


def _log_softmax_real(x: Array) -> Array:
    x = x.astype(np.float64)
    x -= x.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.asarray(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)), np.float32)


def l2_normalization(node: Node) -> Run:
    """x / |x|, up to four axes. int8 (output in steps of 1/128), float32."""
    dtype = node.check_types("int8 float32")
    x = node.input(0)
    if not 1 <= len(x.shape) <= 4:
        raise node.bad(f"its input has the shape {list(x.shape)}")
    if node.option("fused_activation_function") != "NONE":
        raise node.refused("it has a fused activation")
    node.check_output(x.shape)

    def real(v: Array) -> Array:
        squares = np.square(v.astype(np.float64)).sum(axis=-1, keepdims=True)
        return np.asarray(v / np.maximum(np.sqrt(squares.astype(np.float32)), _EPSILON))

    def quantized(q: Array) -> Array:
        q = q.astype(np.int64) - x.zero_point
        inverse, shift = functions.inverse_root(wrap32(np.square(q).sum(axis=-1, keepdims=True)))
        left = np.maximum(_OUTPUT_BITS - shift, 0)
        y = doubling_high_multiply(wrap32(q << left), inverse)
        y = rounding_right_shift(y, np.broadcast_to(np.maximum(shift - _OUTPUT_BITS, 0), y.shape))
        return _INT8(y)

    return real if dtype == "float32" else quantized
