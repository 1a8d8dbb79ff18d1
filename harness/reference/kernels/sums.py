"""ADD_N, CUMSUM, SQUARED_DIFFERENCE.

Sources: tflite-micro, ``add_n.cc``, ``cumsum.cc``, ``squared_difference.cc`` and the reference
kernels ``AddN``, ``CumSum``. Quantized, the first two halve each term with 20 bits to spare; their
sums start at the real value of the stored 0, which need not be 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from harness.reference.broadcast import aligned, check_broadcast
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.kernels.arithmetic import smaller_than_one
from harness.reference.kernels.shape import positive_axis
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized
from harness.reference.quantization import limits

_SPARE_BITS = 20


class _Halved:
    """Terms on half of the input's scale, and their sums on the output's."""

    def __init__(self, node: Node) -> None:
        x, output = node.input(0), node.output()
        self.zero, self.output = x.zero_point, output
        twice = 2 * node.scale(x)
        self.half = smaller_than_one(node, node.scale(x) / twice)
        self.out = smaller_than_one(node, twice / ((1 << _SPARE_BITS) * node.scale(output)))
        self.start = self.half.scale(np.array(-self.zero << _SPARE_BITS))

    def terms(self, q: Array) -> Array:
        return self.half.scale((q.astype(np.int64) - self.zero) << _SPARE_BITS)

    def result(self, sums: Array) -> Array:
        y = self.out.scale(wrap32(sums)) + self.output.zero_point
        return np.asarray(np.clip(y, -128, 127), np.int8)


def add_n(node: Node) -> Run:
    """The sum of two or more tensors of one shape. int8 (one scale and zero point), float32."""
    dtype = node.check_types("int8 float32")
    x = node.input(0)
    parts = [node.input(index) for index in range(len(node.inputs))]
    if len(parts) < 2 or any((part.shape, part.dtype) != (x.shape, dtype) for part in parts):
        raise node.bad("its inputs are fewer than two, or differ in shape or type")
    node.check_output(x.shape)
    if dtype == "float32":
        return lambda values: [reduce(np.add, values[1:], values[0])]
    if any((part.scale, part.zero_point) != (x.scale, x.zero_point) for part in parts):
        raise node.refused("its inputs differ in scale or zero point")
    halved = _Halved(node)

    def run(values: Sequence[Any]) -> list[Array]:
        return [halved.result(halved.start + sum(halved.terms(value) for value in values))]

    return run


def cumsum(node: Node) -> Run:
    """Sums of the elements up to each one along an axis (int32, input 1). int8, float32."""
    dtype = node.check_types("int8 float32")
    shape, axis = node.input(0).shape, node.input(1)
    if not shape or axis.dtype != "int32" or axis.elements != 1:
        raise node.bad(f"its axis is {axis.dtype} {list(axis.shape)} of {list(shape)}")
    node.check_output(shape)
    exclusive, backward = bool(node.option("exclusive")), bool(node.option("reverse"))
    halved = _Halved(node) if dtype == "int8" else None

    def make(given: list[int]) -> Run:
        place = positive_axis(node, given[0], len(shape)) + 1

        def sums(x: Array) -> Array:
            x = np.flip(x, place) if backward else x
            total = np.cumsum(x, axis=place, dtype=x.dtype)
            if exclusive:
                total = np.roll(total, 1, axis=place)
                np.moveaxis(total, place, 0)[:1] = 0
            return np.flip(total, place) if backward else total

        def run(values: Sequence[Any]) -> list[Array]:
            if halved is None:
                return [np.ascontiguousarray(sums(values[0]))]
            return [halved.result(halved.start + sums(halved.terms(values[0])))]

        return run

    return parametrized(node, (1,), make)


#: Bits to spare of SQUARED_DIFFERENCE.
_SQUARE_BITS = {"int8": 7, "int16": 0}


def squared_difference(node: Node) -> Run:
    """(x - y)^2, broadcast. int8, int16 (zero points 0), int32 (wraps), float32."""
    dtype = node.check_types("int8 int16 int32 float32")
    x, y, output = node.input(0), node.input(1), node.output()
    if y.dtype != dtype:
        raise node.bad(f"its inputs are {dtype} and {y.dtype}")
    check_broadcast(node)
    rank = len(output.shape)

    def plain(values: Sequence[Any]) -> list[Array]:
        difference = aligned(values[0], rank) - aligned(values[1], rank)
        return [difference * difference]

    if dtype not in _SQUARE_BITS:
        return plain
    if dtype == "int16" and (x.zero_point or y.zero_point or output.zero_point):
        raise node.refused("int16 tensors must have the zero point 0")
    bits = _SQUARE_BITS[dtype]
    twice = 2 * max(node.scale(x), node.scale(y))
    first, second = (smaller_than_one(node, node.scale(t) / twice) for t in (x, y))
    square = Multiplier.of(twice * twice / (node.scale(output) * (1 << 2 * bits)), node.rounding)
    low, high = limits(dtype)

    def quantized(values: Sequence[Any]) -> list[Array]:
        a = (aligned(values[0], rank).astype(np.int64) - x.zero_point) << bits
        b = (aligned(values[1], rank).astype(np.int64) - y.zero_point) << bits
        difference = first.scale(a) - second.scale(b)
        q = square.scale(wrap32(difference * difference)) + output.zero_point
        return [np.clip(q, low, high).astype(dtype)]

    return quantized
