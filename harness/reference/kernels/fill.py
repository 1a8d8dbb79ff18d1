"""FILL, ZEROS_LIKE, SHAPE, BROADCAST_TO, BROADCAST_ARGS, SELECT_V2, REVERSE_V2, CAST.

Source: tflite-micro, the operators' own files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.reference.broadcast import aligned, whole_runs
from harness.reference.fixedpoint import Array
from harness.reference.kernels.shape import positive_axis
from harness.reference.node import NUMPY_TYPES, Node, Run
from harness.reference.parameters import parametrized

_MAX_RANK = 5


def fill(node: Node) -> Run:
    """Input 1, a scalar, in the constant shape of input 0. int8, int32, float32."""
    value, output = node.input(1), node.output()
    if value.dtype not in ("int8", "int32", "float32") or value.dtype != output.dtype:
        raise node.unsupported(f"{value.dtype} to {output.dtype} is not supported")
    if value.shape or len(node.input(0).shape) != 1:
        raise node.bad(f"its value has the shape {list(value.shape)}")
    shape = node.required_constant(0, "its shape")
    if shape.dtype.kind != "i":
        raise node.bad(f"its shape has the type {shape.dtype}")
    node.check_output([int(size) for size in shape])

    def run(values: Sequence[Any]) -> list[Array]:
        scalar = values[1].reshape(-1, *(1,) * len(output.shape))
        return [np.broadcast_to(scalar, (len(scalar), *output.shape)).copy()]

    return run


def zeros_like(node: Node) -> Run:
    """Zeros in the shape and type of the input. int8, int32, int64, float32."""
    dtype = NUMPY_TYPES[node.check_types("int8 int32 int64 float32")]
    shape = node.input(0).shape
    node.check_output(shape)
    return lambda values: [np.zeros((1, *shape), dtype)]


def shape(node: Node) -> Run:
    """The shape of the input, of any type, as the model states it (a free batch is 1). int32."""
    x, output = node.input(0), node.output()
    if output.dtype != "int32":
        raise node.unsupported(f"an output of type {output.dtype} is not supported")
    node.check_output((len(x.shape),))
    sizes = np.array([x.shape], np.int32)
    return lambda values: [sizes.copy()]


def broadcast_to(node: Node) -> Run:
    """The input repeated to the constant shape of input 1, up to 5 axes. Any type."""
    x, output = node.input(0), node.output()
    if x.dtype != output.dtype:
        raise node.bad(f"its input is {x.dtype}, its output {output.dtype}")
    target = node.integers(1, "its shape", "int32 int64")
    rank = len(target)
    if len(x.shape) > rank or rank > _MAX_RANK or len(node.input(1).shape) != 1:
        raise node.bad(f"{list(x.shape)} in the shape {target}")
    node.check_output(target)
    ends = zip(x.shape[::-1], target[::-1], strict=False)
    if any(size not in (1, wanted) for size, wanted in ends):
        raise node.bad(f"{list(x.shape)} cannot be repeated to {target}")
    return lambda values: [
        np.broadcast_to(aligned(values[0], rank), (len(values[0]), *target)).copy()
    ]


def broadcast_args(node: Node) -> Run:
    """The shape to which two shapes broadcast. int32, int64."""
    dtype = node.check_types("int32 int64")
    first, second, output = node.input(0), node.input(1), node.output()
    if second.dtype != dtype or {len(t.shape) for t in (first, second, output)} != {1}:
        raise node.bad(f"its shapes are {dtype} and {second.dtype} or no vectors")
    length = max(first.elements, second.elements)
    node.check_output((length,))

    def run(values: Sequence[Any]) -> list[Array]:
        a, b = (_led_by_ones(value, length) for value in whole_runs(list(values)))
        if np.any((a != b) & (a != 1) & (b != 1)):
            raise node.aborts("its shapes do not broadcast")
        return [np.where(a == 1, b, a)]

    return run


def _led_by_ones(x: Array, length: int) -> Array:
    return np.pad(x, ((0, 0), (length - x.shape[1], 0)), constant_values=1)


def select_v2(node: Node) -> Run:
    """Input 1 where input 0 (bool) is true, input 2 elsewhere, broadcast. int8, int16, float32."""
    condition, x, y, output = *(node.input(i) for i in range(3)), node.output()
    if x.dtype not in ("int8", "int16", "float32"):
        raise node.unsupported(f"input type {x.dtype} is not supported")
    if condition.dtype != "bool" or not x.dtype == y.dtype == output.dtype:
        raise node.bad(f"its types are {condition.dtype}, {x.dtype}, {y.dtype}, {output.dtype}")
    shapes = [condition.shape, x.shape, y.shape]
    if {t.elements for t in (condition, x, y, output)} == {1}:
        # Of one element each: their numbers of axes need not fit.
        return lambda values: [
            np.where(*(v.reshape(-1, *output.shape) for v in values[:3])).astype(x.dtype)
        ]
    try:
        node.check_output(np.broadcast_shapes(*shapes))
    except ValueError:
        raise node.bad(f"its inputs {[list(each) for each in shapes]} do not broadcast") from None
    rank = len(output.shape)
    return lambda values: [np.where(*(aligned(value, rank) for value in values[:3]))]


_REVERSED = "int8 uint8 int16 int32 int64 float32 bool"


def reverse_v2(node: Node) -> Run:
    """The input with neighbouring axes (int32, input 1) turned round."""
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


_CAST_FROM = ("int8", "int16", "int32", "uint32", "float32", "bool")
_CAST_TO = ("int8", "int16", "int32", "uint32", "float32")


def cast(node: Node) -> Run:
    """The value in another type. Integers wrap.

    float32 goes toward zero. What does not fit is undefined in C++; here it is what Arm's VCVT
    gives: saturated to 32 bits, NaN to 0, and narrower types keep the low bits.
    """
    x, output = node.input(0), node.output()
    if x.dtype not in _CAST_FROM or output.dtype not in _CAST_TO:
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    node.check_output(x.shape)
    dtype = NUMPY_TYPES[output.dtype]
    if x.dtype != "float32" or dtype.kind == "f":
        return lambda values: [values[0].astype(dtype)]
    low, high = (0, (1 << 32) - 1) if dtype.kind == "u" else (-(1 << 31), (1 << 31) - 1)

    def run(values: Sequence[Any]) -> list[Array]:
        whole = np.trunc(np.nan_to_num(values[0].astype(np.float64), posinf=high, neginf=low))
        return [np.clip(whole, low, high).astype(np.int64).astype(dtype)]

    return run
