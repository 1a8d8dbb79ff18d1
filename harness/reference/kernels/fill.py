"""FILL, ZEROS_LIKE, SHAPE, BROADCAST_TO, BROADCAST_ARGS.

Source: tflite-micro, the operators' own files.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array, aligned, whole_runs
from harness.reference.node import NUMPY_TYPES, Node, Run

_MAX_RANK = 5


def fill(node: Node) -> Run:
    """Input 1, a scalar, in the constant shape of input 0. int8, int32, float32."""
    value, output = node.input(1), node.output()
    if value.dtype not in ("int8", "int32", "float32") or value.dtype != output.dtype:
        raise node.unsupported(f"{value.dtype} to {output.dtype} is not supported")
    if value.shape or len(node.input(0).shape) != 1:
        raise node.bad(f"its value has the shape {list(value.shape)}")
    node.check_output(node.integers(0, "its shape", "int8 int16 int32 int64"))

    def run(_: Array, value: Array) -> Array:
        scalar = value.reshape(-1, *(1,) * len(output.shape))
        return np.broadcast_to(scalar, (len(scalar), *output.shape))

    return run


def zeros_like(node: Node) -> Run:
    """Zeros in the shape and type of the input. int8, int32, int64, float32."""
    dtype = NUMPY_TYPES[node.check_types("int8 int32 int64 float32")]
    shape = node.input(0).shape
    node.check_output(shape)
    return lambda _: np.zeros((1, *shape), dtype)


def shape(node: Node) -> Run:
    """The declared shape of the input, of any type; an axis of dynamic size is 1. int32."""
    x, output = node.input(0), node.output()
    if output.dtype != "int32":
        raise node.unsupported(f"an output of type {output.dtype} is not supported")
    node.check_output((len(x.shape),))
    sizes = np.array([x.shape], np.int32)
    return lambda _: sizes


def broadcast_to(node: Node) -> Run:
    """The input broadcast to the constant shape of input 1, up to 5 axes. Any type."""
    x, output = node.input(0), node.output()
    if x.dtype != output.dtype:
        raise node.bad(f"its input is {x.dtype}, its output {output.dtype}")
    target = node.integers(1, "its shape", "int32 int64")
    rank = len(target)
    if len(x.shape) > rank or rank > _MAX_RANK or len(node.input(1).shape) != 1:
        raise node.bad(f"{list(x.shape)} cannot be broadcast to {target}")
    node.check_output(target)
    ends = zip(x.shape[::-1], target[::-1], strict=False)
    if any(size not in (1, wanted) for size, wanted in ends):
        raise node.bad(f"{list(x.shape)} cannot be broadcast to {target}")
    return lambda x, _: np.broadcast_to(aligned(x, rank), (len(x), *target))


def broadcast_args(node: Node) -> Run:
    """The shape to which two shapes broadcast. int32, int64."""
    dtype = node.check_types("int32 int64")
    first, second, output = node.input(0), node.input(1), node.output()
    if second.dtype != dtype or {len(t.shape) for t in (first, second, output)} != {1}:
        raise node.bad(f"its shapes are {dtype} and {second.dtype}, or not vectors")
    length = max(first.elements, second.elements)
    node.check_output((length,))

    def run(*shapes: Array) -> Array:
        a, b = (_prepended_by_ones(value, length) for value in whole_runs(shapes))
        if np.any((a != b) & (a != 1) & (b != 1)):
            raise node.aborts("its shapes do not broadcast")
        return np.where(a == 1, b, a)

    return run


def _prepended_by_ones(x: Array, length: int) -> Array:
    return np.pad(x, ((0, 0), (length - x.shape[1], 0)), constant_values=1)
