"""ADD, SUB, MUL, MINIMUM, MAXIMUM with broadcasting.

Sources: TensorFlow Lite operator specification. Quantized sums bring both inputs to a common
scale, twice the larger one, with 20 (int8) or 15 (int16) bits to spare, then to the output's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp, clamp_for
from harness.reference.bind import Call, Prepared, Workspace, copied, every_value, looked_up
from harness.reference.broadcast import aligned, check_broadcast
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.node import Node, Run

_SPARE_BITS = {"int8": 20, "int16": 15}
_INT32 = (-(1 << 31), (1 << 31) - 1)


def check_pair(node: Node, allowed: str) -> str:
    """The type that both inputs have, one of ``allowed``; refuses shapes that do not broadcast."""
    dtype = node.check_types(allowed)
    if node.input(1).dtype != dtype:
        raise node.bad(f"its inputs are {dtype} and {node.input(1).dtype}")
    check_broadcast(node)
    return dtype


def _plain(node: Node, function: Callable[[Array, Array], Array], clamp: Clamp | None) -> Run:
    """An operator on the values as they are; float32 results are single operations."""
    return _pairwise(node, function if clamp is None else lambda a, b: clamp(function(a, b)))


def _pairwise(node: Node, function: Callable[[Array, Array], Array]) -> Run:
    """``function`` of both inputs, broadcast. Bound, one of int8 is a table of all pairs."""
    output = node.output()
    rank = len(output.shape)

    def run(values: Sequence[Any]) -> list[Array]:
        return [function(aligned(values[0], rank), aligned(values[1], rank))]

    if (node.input(0).dtype, output.dtype) != ("int8", "int8"):
        return run

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        every = every_value().astype(np.int8)
        table = work.keep((256, 256), np.int8)
        table[...] = function(every[:, None], every)
        # The first input's byte is the high one of a little-endian index.
        pair = work.share("pairs", (1, *output.shape, 2), np.uint8)
        x, y = (aligned(value, rank).view(np.uint8) for value in inputs[:2])
        index = pair.reshape(-1).view("<u2")
        return [
            copied(pair[..., 1], x),
            copied(pair[..., 0], y),
            looked_up(table.reshape(-1), index, outputs[0].reshape(-1)),
        ]

    return Prepared(run, bind)


def int32_clamp(node: Node) -> Clamp:
    """The clamp of plain int32 values under the node's fused activation."""
    name, high = node.option("fused_activation_function"), _INT32[1]
    ranges = {"NONE": _INT32, "RELU": (0, high), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}
    if name not in ranges:
        raise node.unsupported(f"fused activation {name} is not supported")
    return Clamp(*ranges[name], np.dtype(np.int32))


def _unquantized(node: Node, function: Callable[[Array, Array], Array], *, clamps: bool) -> Run:
    """float32 or plain int32; int32 wraps, as on the machines that TFLM runs on."""
    if node.input(0).dtype == "float32":
        return _plain(node, function, clamp_for(node, node.output()))
    if node.operator.name != "MUL" and any(node.input(index).quantization for index in (0, 1)):
        raise node.refused("int32 tensors must not be quantized")
    clamp = int32_clamp(node) if clamps else Clamp(*_INT32, np.dtype(np.int32))
    return _plain(
        node, lambda a, b: wrap32(function(a.astype(np.int64), b.astype(np.int64))), clamp
    )


def smaller_than_one(node: Node, real: float) -> Multiplier:
    """A multiplier that must be between 0 and 1 (``QuantizeMultiplierSmallerThanOneExp``)."""
    if not 0 < real < 1:
        raise node.bad(f"its scales give the multiplier {real}, which must be between 0 and 1")
    return Multiplier.of(real, node.rounding)


def _sum_multipliers(node: Node) -> tuple[float, float, float]:
    """Of both inputs to twice the larger scale, and from there to the output's."""
    scales = [node.scale(t) for t in (node.input(0), node.input(1), node.output())]
    if node.operator.name == "SUB":
        scales = [node.precise(scale) for scale in scales]
    s0, s1, out = scales
    twice = 2 * max(s0, s1)
    spread = (1 << _SPARE_BITS[node.input(0).dtype]) * out
    return float(s0 / twice), float(s1 / twice), float(twice / spread)


def _rescaled_sum(node: Node, reals: tuple[float, float, float], sign: int) -> Run:
    """clamp(output multiplier * (m0 * x0 + sign * m1 * x1) + zero point)."""
    x0, x1, output = node.input(0), node.input(1), node.output()
    m0, m1, m_out = (smaller_than_one(node, real) for real in reals)
    first, second = _term(x0, m0, 1), _term(x1, m1, sign)
    clamp = clamp_for(node, output)

    def total(a: Array, b: Array) -> Array:
        y = m_out.scale(wrap32(first(a) + second(b)))
        y += output.zero_point
        return clamp(y)

    return _pairwise(node, total)


def _term(x: Tensor, multiplier: Multiplier, sign: int) -> Callable[[Array], Array]:
    """One input of a sum at the common scale; of int8 a table of its 256 values."""

    def term(value: Array) -> Array:
        centred = (value.astype(np.int64) - x.zero_point) << _SPARE_BITS[x.dtype]
        return sign * multiplier.scale(centred)

    if x.dtype != "int8":
        return term
    table = term(np.arange(256, dtype=np.uint8).view(np.int8))
    return lambda value: table.take(np.ascontiguousarray(value).view(np.uint8))


def add(node: Node) -> Run:
    """x + y of any broadcastable shapes. int8, int16, int32 (no activation), float32."""
    dtype = check_pair(node, "int8 int16 int32 float32")
    if dtype not in _SPARE_BITS:
        return _unquantized(node, np.add, clamps=False)
    return _rescaled_sum(node, _sum_multipliers(node), 1)


def sub(node: Node) -> Run:
    """x - y of any broadcastable shapes. int8, int16, int32, float32."""
    dtype = check_pair(node, "int8 int16 int32 float32")
    if dtype not in _SPARE_BITS:
        return _unquantized(node, np.subtract, clamps=True)
    return _rescaled_sum(node, _sum_multipliers(node), -1)


def mul(node: Node) -> Run:
    """x * y of any broadcastable shapes. int8, int16 (zero points 0), int32, float32."""
    dtype = check_pair(node, "int8 int16 int32 float32")
    if dtype not in _SPARE_BITS:
        return _unquantized(node, np.multiply, clamps=True)
    x0, x1, output = node.input(0), node.input(1), node.output()
    if dtype == "int16" and (x0.zero_point or x1.zero_point or output.zero_point):
        raise node.refused("int16 tensors must have the zero point 0")
    real = node.scale(x0) * node.scale(x1) / node.scale(output)
    multiplier = Multiplier.of(real, node.rounding)
    clamp = clamp_for(node, output)

    def product(a: Array, b: Array) -> Array:
        centred = (a.astype(np.int64) - x0.zero_point) * (b.astype(np.int64) - x1.zero_point)
        return multiplier.scale(wrap32(centred)) + output.zero_point

    return _plain(node, product, clamp)


def minimum(node: Node) -> Run:
    """The smaller of x and y, y where either is NaN; compared as stored: no rescaling."""
    check_pair(node, "int8 int16 int32 int64 float32")
    return _plain(node, lambda a, b: np.where(a < b, a, b), None)


def maximum(node: Node) -> Run:
    """The larger of x and y, y where either is NaN; compared as stored: no rescaling."""
    check_pair(node, "int8 int16 int32 int64 float32")
    return _plain(node, lambda a, b: np.where(a > b, a, b), None)
