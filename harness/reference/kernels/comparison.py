"""Comparisons, logical operators and SELECT_V2, with broadcasting.

EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT.
Sources: TensorFlow Lite operator specification; tflite-micro, ``select.cc``. int8 inputs are
converted to fixed point (shifted left by 8, times the scale, which must be below 1), then compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.reference.arrays import Array, aligned
from harness.reference.node import Node, Run
from harness.reference.tables import tabulated

_ORDERED = "float32 int8 int32 int64"
_ANY = "float32 int8 int32 int64 bool"
_LEFT_SHIFT = 8


def _compare(node: Node, function: Callable[[Array, Array], Array], allowed: str) -> Run:
    a, b = node.input(0), node.input(1)
    if a.dtype not in allowed.split():
        raise node.unsupported(f"input type {a.dtype} is not supported")
    if b.dtype != a.dtype or node.output().dtype != "bool":
        raise node.bad(f"its types are {a.dtype}, {b.dtype} and {node.output().dtype}")
    node.check_broadcast()
    rank = len(node.output().shape)
    first, second = (_real(node, index) for index in (0, 1))
    return lambda x, y: function(first(aligned(x, rank)), second(aligned(y, rank)))


def _real(node: Node, index: int) -> Callable[[Array], Array]:
    """The function from the array of input ``index`` to comparable values."""
    tensor = node.input(index)
    if tensor.dtype != "int8":
        return lambda x: x
    scale = node.scale(tensor)
    if not scale < 1:
        raise node.bad(f"its input {index} has the scale {scale}, which must be below 1")
    multiplier = node.multiplier(scale)
    return tabulated(
        lambda q: multiplier.scale((q - tensor.zero_point) << _LEFT_SHIFT), tensor.dtype
    )


def equal(node: Node) -> Run:
    """x == y."""
    return _compare(node, np.equal, _ANY)


def not_equal(node: Node) -> Run:
    """x != y."""
    return _compare(node, np.not_equal, _ANY)


def greater(node: Node) -> Run:
    """x > y."""
    if node.input(0).dtype == "int16":
        raise node.bad("TFLM compares int16 values with scales that it does not initialize")
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


def logical_not(node: Node) -> Run:
    """Logical NOT x. bool."""
    _check_bool(node, 0)
    node.check_output(node.input(0).shape)
    return np.logical_not


def _logical(node: Node, function: Callable[[Array, Array], Array]) -> Run:
    _check_bool(node, 0, 1)
    node.check_broadcast()
    rank = len(node.output().shape)
    return lambda x, y: function(aligned(x, rank), aligned(y, rank))


def _check_bool(node: Node, *inputs: int) -> None:
    """Raises BadModel for types other than bool: TFLM would read their bytes as bool values."""
    types = [*(node.input(index).dtype for index in inputs), node.output().dtype]
    if set(types) != {"bool"}:
        raise node.bad(f"its tensors are {', '.join(types)}, not bool")


def logical_and(node: Node) -> Run:
    """Logical x AND y, broadcast. bool."""
    return _logical(node, np.logical_and)


def logical_or(node: Node) -> Run:
    """Logical x OR y, broadcast. bool."""
    return _logical(node, np.logical_or)


def select_v2(node: Node) -> Run:
    """Input 1 where input 0 (bool) is true, input 2 elsewhere, broadcast. int8, int16, float32."""
    condition, x, y, output = *(node.input(i) for i in range(3)), node.output()
    if x.dtype not in ("int8", "int16", "float32"):
        raise node.unsupported(f"input type {x.dtype} is not supported")
    if condition.dtype != "bool" or not x.dtype == y.dtype == output.dtype:
        raise node.bad(f"its types are {condition.dtype}, {x.dtype}, {y.dtype}, {output.dtype}")
    shapes = [condition.shape, x.shape, y.shape]
    if {t.elements for t in (condition, x, y, output)} == {1}:
        # With one element each, ranks may differ.
        return lambda *values: np.where(*(v.reshape(len(v), *output.shape) for v in values))
    try:
        node.check_output(np.broadcast_shapes(*shapes))
    except ValueError:
        raise node.bad(f"its inputs {[list(each) for each in shapes]} do not broadcast") from None
    rank = len(output.shape)
    return lambda *values: np.where(*(aligned(value, rank) for value in values))
