"""ELU and PRELU: other slopes below zero.

Sources: tflite-micro, ``elu.cc``, ``prelu_common.cc`` and the reference kernels of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference.broadcast import aligned, check_broadcast
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.kernels.activations import elementwise
from harness.reference.node import Node, Run
from harness.reference.quantization import limits, round_away


def elu(node: Node) -> Run:
    """x for x >= 0, exp(x) - 1 else, of any shape. int8 (in single precision), float32."""
    dtype = node.check_types("int8 float32")
    x, output = node.input(0), node.output()
    node.check_output(x.shape)
    if dtype == "float32":
        return elementwise(node, lambda v: np.where(v < 0, np.expm1(np.minimum(v, 0)), v))
    scale, inverse = np.float32(node.scale(x)), np.float32(1) / np.float32(node.scale(output))

    def quantized(q: Array) -> Array:
        real = scale * (q - x.zero_point).astype(np.float32)
        below = np.exp(np.minimum(real, 0).astype(np.float64)).astype(np.float32) - np.float32(1)
        steps = round_away(np.where(real < 0, below, real) * inverse) + np.float32(
            output.zero_point
        )
        return np.asarray(np.clip(steps, -128, 127))

    return elementwise(node, quantized)


def prelu(node: Node) -> Run:
    """x for x >= 0, alpha * x else, alpha (input 1) broadcast. int8, int16 x int8, float32."""
    dtype = node.check_types("int8 int16 float32")
    x, alpha, output = node.input(0), node.input(1), node.output()
    if alpha.dtype != ("float32" if dtype == "float32" else "int8"):
        raise node.bad(f"its slopes are {alpha.dtype} for {dtype}")
    check_broadcast(node)
    rank = len(output.shape)

    def real(values: Sequence[Any]) -> list[Array]:
        v, slope = aligned(values[0], rank), aligned(values[1], rank)
        return [np.where(v >= 0, v, v * slope)]

    if dtype == "float32":
        if rank > 4:
            raise node.unsupported("more than four axes are not supported")
        return real
    identity = Multiplier.of(node.scale(x) / node.scale(output), node.rounding)
    leak = Multiplier.of(node.scale(x) * node.scale(alpha) / node.scale(output), node.rounding)
    low, high = limits(dtype)

    def quantized(values: Sequence[Any]) -> list[Array]:
        q = aligned(values[0], rank).astype(np.int64) - x.zero_point
        slope = aligned(values[1], rank).astype(np.int64) - alpha.zero_point
        y = np.where(q >= 0, identity.scale(q), leak.scale(q * slope)) + output.zero_point
        return [np.clip(y, low, high).astype(dtype)]

    return quantized
