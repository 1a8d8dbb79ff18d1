"""DIV, FLOOR_DIV, FLOOR_MOD with broadcasting.

Sources: tflite-micro's reference kernels ``Div``, ``FloorDiv``, ``FloorMod``. The quantized
quotient multiplies by a fixed-point reciprocal (``GetReciprocal``). A divisor of zero is refused
when it arrives, except in real numbers: integers divided by zero have no defined quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.reference import gemmlowp
from harness.reference.activation import clamp_for
from harness.reference.broadcast import aligned
from harness.reference.fixedpoint import (
    Array,
    doubling_high_multiply,
    quantize_multiplier,
    rounding_right_shift,
    wrap32,
)
from harness.reference.kernels.arithmetic import check_pair, int32_clamp
from harness.reference.node import Node, Run


def div(node: Node) -> Run:
    """x / y. int8, int32 (toward zero, not quantized), float32."""
    dtype = check_pair(node, "int8 int32 float32")
    if dtype == "int8":
        return _quantized(node)
    rank = len(node.output().shape)
    clamp = clamp_for(node, node.output()) if dtype == "float32" else int32_clamp(node)
    if dtype == "float32":
        return lambda values: [clamp(aligned(values[0], rank) / aligned(values[1], rank))]
    if node.input(0).quantization or node.input(1).quantization:
        raise node.refused("int32 tensors must not be quantized")

    def run(values: Sequence[Any]) -> list[Array]:
        a, b = (aligned(value, rank).astype(np.int64) for value in values)
        _no_zero(node, b)
        return [clamp(wrap32(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))))]

    return run


def _no_zero(node: Node, divisor: Array) -> None:
    if not divisor.all():
        raise node.bad("its divisor is zero, where TFLM's quotient is undefined")


def _quantized(node: Node) -> Run:
    x, y, output = node.input(0), node.input(1), node.output()
    scales = [node.precise(node.scale(tensor)) for tensor in (x, y, output)]
    multiplier, shift = quantize_multiplier(float(scales[0] / (scales[1] * scales[2])))
    clamp = clamp_for(node, output)
    rank = len(output.shape)

    def run(values: Sequence[Any]) -> list[Array]:
        a = aligned(values[0], rank).astype(np.int64) - x.zero_point
        b = aligned(values[1], rank).astype(np.int64) - y.zero_point
        _no_zero(node, b)
        a, b = np.broadcast_arrays(np.where(b < 0, -a, a), np.abs(b))
        inverse, over = gemmlowp.reciprocal(b, 31)
        headroom = _leading_sign_bits(a)
        quotient = doubling_high_multiply(a << headroom, inverse)
        total = shift - over - headroom
        if np.any((total > 0) | (total < -31)):
            raise node.bad("its scales shift a quotient by more than 31 bits, which is undefined")
        scaled = rounding_right_shift(doubling_high_multiply(quotient, multiplier), -total)
        return [clamp(scaled + output.zero_point)]

    return run


def _leading_sign_bits(x: Array) -> Array:
    """How far an int32 can go left before its sign changes."""
    magnitude = np.where(x < 0, ~x, x)
    return 31 - np.frexp(magnitude.astype(np.float64))[1].astype(np.int64)


def _real(node: Node, function: Callable[[Array, Array], Array]) -> Run:
    check_pair(node, "float32")
    rank = len(node.output().shape)
    if max(len(node.input(index).shape) for index in (0, 1)) > 4 and (
        node.input(0).shape != node.input(1).shape
    ):
        raise node.unsupported("broadcasting of more than four axes is not supported")
    return lambda values: [function(aligned(values[0], rank), aligned(values[1], rank))]


def floor_div(node: Node) -> Run:
    """The largest integer not above x / y. float32; refuses divisors of zero, as TFLM does."""

    def function(a: Array, b: Array) -> Array:
        if not b.all():
            raise node.bad("its divisor is zero")
        return np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(np.float32)

    return _real(node, function)


def floor_mod(node: Node) -> Run:
    """What FLOOR_DIV leaves over, with the divisor's sign. float32; NaN for divisors of zero."""

    def function(a: Array, b: Array) -> Array:
        rest = np.fmod(a, b)
        return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)

    return _real(node, function)
