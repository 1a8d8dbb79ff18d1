"""ADD, SUB, MUL, MINIMUM, MAXIMUM with broadcasting.

Sources: TensorFlow Lite operator specification. Quantized sums bring both inputs to a common
scale, twice the larger one, with 20 (int8) or 15 (int16) bits to spare, then to the output's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import Clamp, clamp_for
from harness.reference.bind import (
    Call,
    Prepared,
    Workspace,
    copied,
    every_value,
    looked_up,
    unsigned,
)
from harness.reference.broadcast import aligned, blockwise, check_broadcast
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.node import NUMPY_TYPES, Node, Run
from harness.reference.quantization import limits
from harness.reference.scaling import Scaling

_SPARE_BITS = {"int8": 20, "int16": 15}
_INT32 = limits(np.int32)


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
    """``function`` of both inputs, broadcast. One of int8 is a table of all pairs."""
    output = node.output()
    rank, dtype = len(output.shape), NUMPY_TYPES[output.dtype]
    pairs = (node.input(0).dtype, output.dtype) == ("int8", "int8")

    @cache
    def table() -> Array:
        every = every_value().astype(np.int8)
        return np.ascontiguousarray(function(every[:, None], every)).reshape(-1)

    def looked(a: Array, b: Array) -> Array:
        # The first input's byte is the high one of a little-endian index.
        pair = np.empty((*np.broadcast_shapes(a.shape, b.shape), 2), np.uint8)
        pair[..., 1], pair[..., 0] = a.view(np.uint8), b.view(np.uint8)
        return table().take(pair.view("<u2")[..., 0], mode="clip")

    def run(values: Sequence[Any]) -> list[Array]:
        arrays = [aligned(value, rank) for value in values[:2]]
        return [blockwise(looked if pairs else function, arrays, dtype)]

    if not pairs:
        return run

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        pair = work.share("pairs", (1, *output.shape, 2), np.uint8)
        x, y = (aligned(value, rank).view(np.uint8) for value in inputs[:2])
        index = pair.reshape(-1).view("<u2")
        return [
            copied(pair[..., 1], x),
            copied(pair[..., 0], y),
            looked_up(table(), index, outputs[0].reshape(-1)),
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
    terms = _Term.of(x0, m0, 1), _Term.of(x1, m1, sign)
    scaled = _scaled(m_out, output, clamp_for(node, output))

    def total(a: Array, b: Array) -> Array:
        sums, other = terms[0](a), terms[1](b)
        sums = np.add(sums, other, out=sums if sums.shape == other.shape else None)
        return scaled.finished(sums) if isinstance(scaled, Scaling) else scaled(sums)

    if x0.dtype == "int8" or not isinstance(scaled, Scaling):
        return _pairwise(node, total)

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        shape, calls = (1, *output.shape), list[Call]()
        u, v = (work.share(name, shape, np.float64) for name in ("sums", "terms"))
        for term, value, buffer in zip(terms, inputs[:2], (u, v), strict=True):
            calls += term.calls(aligned(value, len(output.shape)), buffer, work)
        u = u.reshape(1, -1)
        calls.append(partial(np.add, u, v.reshape(u.shape), u))
        return [*calls, *scaled.calls(u, outputs[0], work, wraps=False)]

    return Prepared(_pairwise(node, total), bind)


@dataclass(frozen=True)
class _Term:
    """An input of a sum at the common scale, float64: ``factor`` times it, or from a table.

    The ``table`` has what each of its values gives, in the order of their bits. The input with the
    larger scale needs none: its multiplier is a half.
    """

    factor: float
    table: Array | None

    @classmethod
    def of(cls, x: Tensor, multiplier: Multiplier, sign: int) -> _Term:
        values = every_value(x.dtype)
        table = sign * multiplier.scale((values - x.zero_point) << _SPARE_BITS[x.dtype])
        factor = sign << (_SPARE_BITS[x.dtype] - 1)
        plain = np.array_equal(table, values * factor)
        return cls(factor, None if plain else table.astype(np.float64))

    def __call__(self, value: Array) -> Array:
        if self.table is None:
            term: Array = value.astype(np.float64)
            term *= self.factor
            return term
        index = np.ascontiguousarray(value).view(unsigned(value.dtype))
        return self.table.take(index, mode="clip")

    def calls(self, value: Array, buffer: Array, work: Workspace) -> list[Call]:
        """What brings the term of ``value``, broadcast, into ``buffer``."""
        if self.table is None:
            return [
                copied(buffer, value),
                partial(np.multiply, buffer, np.array(self.factor), buffer),
            ]
        index = value.view(unsigned(value.dtype))
        if index.shape != buffer.shape:
            whole = work.share("index of terms", buffer.shape, index.dtype)
            return [copied(whole, index), looked_up(self.table, whole, buffer)]
        return [looked_up(self.table, index, buffer)]


def _scaled(multiplier: Multiplier, output: Tensor, clamp: Clamp) -> Callable[[Array], Array]:
    """What brings 32-bit numbers to the output's scale."""

    def in_steps(sums: Array) -> Array:
        return clamp(multiplier.scale(sums.astype(np.int64)) + output.zero_point)

    return Scaling.of(multiplier, output.zero_point, clamp, 1 << 31) or in_steps


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

    scaled = _scaled(multiplier, output, clamp)

    def product(a: Array, b: Array) -> Array:
        return scaled((a.astype(np.int32) - x0.zero_point) * (b.astype(np.int32) - x1.zero_point))

    return _plain(node, product, None)


def minimum(node: Node) -> Run:
    """The smaller of x and y, y where either is NaN; compared as stored: no rescaling."""
    check_pair(node, "int8 int16 int32 int64 float32")
    return _plain(node, lambda a, b: np.where(a < b, a, b), None)


def maximum(node: Node) -> Run:
    """The larger of x and y, y where either is NaN; compared as stored: no rescaling."""
    check_pair(node, "int8 int16 int32 int64 float32")
    return _plain(node, lambda a, b: np.where(a > b, a, b), None)
