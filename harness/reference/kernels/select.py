"""SELECT_V2 and REVERSE_V2: elements by a condition, and in reverse order.

Source: tflite-micro, ``select.cc``, ``reverse.cc``.
"""

from __future__ import annotations

import numpy as np

from harness.reference.broadcast import aligned
from harness.reference.kernels.shape import positive_axis
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized


def select_v2(node: Node) -> Run:
    """Input 1 where input 0 (bool) is true, input 2 elsewhere, broadcast. int8, int16, float32."""
    condition, x, y, output = *(node.input(i) for i in range(3)), node.output()
    if x.dtype not in ("int8", "int16", "float32"):
        raise node.unsupported(f"input type {x.dtype} is not supported")
    if condition.dtype != "bool" or not x.dtype == y.dtype == output.dtype:
        raise node.bad(f"its types are {condition.dtype}, {x.dtype}, {y.dtype}, {output.dtype}")
    shapes = [condition.shape, x.shape, y.shape]
    if {t.elements for t in (condition, x, y, output)} == {1}:
        # With one element each, the numbers of axes may differ.
        return lambda values: [
            np.where(*(v.reshape(len(v), *output.shape) for v in values[:3])).astype(x.dtype)
        ]
    try:
        node.check_output(np.broadcast_shapes(*shapes))
    except ValueError:
        raise node.bad(f"its inputs {[list(each) for each in shapes]} do not broadcast") from None
    rank = len(output.shape)
    return lambda values: [np.where(*(aligned(value, rank) for value in values[:3]))]


_REVERSED = "int8 uint8 int16 int32 int64 float32 bool"


def reverse_v2(node: Node) -> Run:
    """The input in reverse order along neighbouring axes (int32, input 1)."""
    node.check_types(_REVERSED)
    x, axis = node.input(0), node.input(1)
    if axis.dtype != "int32" or len(axis.shape) != 1 or not 0 < axis.elements <= len(x.shape):
        raise node.bad(f"axes {axis.dtype} {list(axis.shape)} of {list(x.shape)}")
    node.check_output(x.shape)

    def make(given: list[int]) -> Run:
        axes = sorted(positive_axis(node, each, len(x.shape)) for each in given)
        if axes != list(range(axes[0], axes[0] + len(axes))):
            raise node.bad(f"axes {given} are not neighbours")
        places = tuple(each + 1 for each in axes)
        return lambda values: [np.ascontiguousarray(np.flip(values[0], places))]

    return parametrized(node, (1,), make)
