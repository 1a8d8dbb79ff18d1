"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL with broadcasting; bool outputs.

Source: TensorFlow Lite operator specification. int8 inputs are brought to real values in fixed
point (8 bits to spare, then times the scale, which must be below 1) before they are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.reference.broadcast import aligned, check_broadcast
from harness.reference.fixedpoint import Array, Multiplier
from harness.reference.node import Node, Run

_ORDERED = "float32 int8 int32 int64"
_ANY = "float32 int8 int32 int64 bool"
_SPARE_BITS = 8


def _compare(node: Node, function: Callable[[Array, Array], Array], allowed: str) -> Run:
    a, b = node.input(0), node.input(1)
    if a.dtype not in allowed.split():
        raise node.unsupported(f"input type {a.dtype} is not supported")
    if b.dtype != a.dtype or node.output().dtype != "bool":
        raise node.bad(f"its types are {a.dtype}, {b.dtype} and {node.output().dtype}")
    check_broadcast(node)
    rank = len(node.output().shape)
    scales = [_rescaler(node, index) for index in (0, 1)]

    def run(values: Sequence[Any]) -> list[Array]:
        x, y = (scale(aligned(v, rank)) for scale, v in zip(scales, values, strict=True))
        return [function(x, y)]

    return run


def _rescaler(node: Node, index: int) -> Callable[[Array], Array]:
    tensor = node.input(index)
    if tensor.dtype != "int8":
        return lambda x: x
    scale = node.scale(tensor)
    if not scale < 1:
        raise node.bad(f"its input {index} has the scale {scale}, which must be below 1")
    multiplier = Multiplier.of(scale, node.rounding)
    return lambda x: multiplier.scale((x.astype(np.int64) - tensor.zero_point) << _SPARE_BITS)


def equal(node: Node) -> Run:
    """x == y."""
    return _compare(node, np.equal, _ANY)


def not_equal(node: Node) -> Run:
    """x != y."""
    return _compare(node, np.not_equal, _ANY)


def greater(node: Node) -> Run:
    """x > y. (For int16 TFLM scales with what it never sets.)"""
    return _compare(node, np.greater, _ORDERED)


def greater_equal(node: Node) -> Run:
    """x >= y."""
    return _compare(node, np.greater_equal, _ORDERED)


def less(node: Node) -> Run:
    """x < y."""
    return _compare(node, np.less, _ORDERED)


def less_equal(node: Node) -> Run:
    """x <= y."""
    return _compare(node, np.less_equal, _ORDERED)
