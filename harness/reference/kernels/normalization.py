"""L2_NORMALIZATION and LOG_SOFTMAX over the last axis.

Sources: tflite-micro, ``l2norm.cc``, ``log_softmax.cc`` and the reference kernels of these names;
the fixed-point inverse root and logarithm are in :mod:`harness.reference.gemmlowp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference import gemmlowp
from harness.reference.fixedpoint import (
    Array,
    Multiplier,
    doubling_high_multiply,
    quantize_multiplier,
    rounding_right_shift,
    wrap32,
)
from harness.reference.kernels.activations import input_radius
from harness.reference.node import Node, Run

_EPSILON = np.float32(1e-6)
_OUTPUT_BITS = 7  # int8 results are in steps of 1/128


def l2_normalization(node: Node) -> Run:
    """x / |x|, up to four axes. int8 (output in steps of 1/128), float32."""
    dtype = node.check_types("int8 float32")
    x = node.input(0)
    if not 1 <= len(x.shape) <= 4:
        raise node.bad(f"its input has the shape {list(x.shape)}")
    if node.option("fused_activation_function") != "NONE":
        raise node.refused("it has a fused activation")
    node.check_output(x.shape)

    def real(values: Sequence[Any]) -> list[Array]:
        squares = np.square(values[0].astype(np.float64)).sum(axis=-1, keepdims=True)
        norm = np.maximum(np.sqrt(squares.astype(np.float32)), _EPSILON)
        return [values[0] / norm]

    def quantized(values: Sequence[Any]) -> list[Array]:
        q = values[0].astype(np.int64) - x.zero_point
        inverse, shift = gemmlowp.inverse_root(wrap32(np.square(q).sum(axis=-1, keepdims=True)))
        left = np.maximum(_OUTPUT_BITS - shift, 0)
        y = doubling_high_multiply(wrap32(q << left), inverse)
        y = rounding_right_shift(y, np.broadcast_to(np.maximum(shift - _OUTPUT_BITS, 0), y.shape))
        return [np.clip(y, -128, 127).astype(np.int8)]

    return real if dtype == "float32" else quantized


_INTEGER_BITS, _ACCUMULATOR_BITS, _RESULT_BITS = 5, 12, 4


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
    multiplier = Multiplier.of(real, node.rounding)
    left = int(multiplier.shift)
    lowest = -input_radius(_INTEGER_BITS, left)
    reverse, reverse_shift = quantize_multiplier((1 << (31 - left)) / float(multiplier.multiplier))
    differences = -np.arange(256, dtype=np.int64)
    counted = differences >= lowest
    scaled = multiplier.scale(differences)
    exponentials = gemmlowp.exp_on_negative_values(np.where(counted, scaled, 0), _INTEGER_BITS)
    shares = np.where(counted, rounding_right_shift(exponentials, _ACCUMULATOR_BITS), 0)
    back = Multiplier(np.array(reverse), np.array(reverse_shift), node.rounding)

    def run(values: Sequence[Any]) -> list[Array]:
        q = values[0].astype(np.int64)
        index = q.max(axis=-1, keepdims=True, initial=-128) - q
        total = shares[index].sum(axis=-1, keepdims=True)
        if np.any(total >= 1 << 31):
            raise node.bad(f"its exponentials' sum is {1 << _ACCUMULATOR_BITS} or more")
        log = gemmlowp.logarithm(total, _ACCUMULATOR_BITS, _INTEGER_BITS)
        smallest = np.maximum(lowest - 1, back.scale(log - (1 << 31)))
        y = rounding_right_shift(wrap32(scaled[index] - log), 31 - _INTEGER_BITS - _RESULT_BITS)
        y = np.where(-index > smallest, np.clip(y + 127, -128, 127), -128)
        return [y.astype(np.int8)]

    return run


def _log_softmax_real(values: Sequence[Any]) -> list[Array]:
    x = values[0].astype(np.float64)
    x -= x.max(axis=-1, keepdims=True, initial=-np.inf)
    return [(x - np.log(np.exp(x).sum(axis=-1, keepdims=True))).astype(np.float32)]
