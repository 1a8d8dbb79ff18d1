"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, ARG_MAX, ARG_MIN.

Source: TensorFlow Lite operator specification. A quantized mean folds 1 / count into the
multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from harness.reference.bind import Bind, Call, Prepared, Workspace, looked_up
from harness.reference.fixedpoint import Array, Multiplier, wrap32
from harness.reference.kernels.shape import positive_axis
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized
from harness.reference.quantization import limits


def _over(node: Node, make: Callable[[tuple[int, ...]], Run]) -> Run:
    """``make`` with the axes of input 1 (int32), which may be computed at run time."""
    return parametrized(node, (1,), lambda given: make(_axes(node, given)))


def _axes(node: Node, given: Sequence[int]) -> tuple[int, ...]:
    """The axes to reduce, each once, counted without the runs axis; checks the output's shape."""
    shape = node.input(0).shape
    axes = tuple(sorted({positive_axis(node, axis, len(shape)) for axis in given}))
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    dropped = [size for axis, size in enumerate(shape) if axis not in axes]
    node.check_output(kept if node.option("keep_dims") else dropped)
    if 0 in shape:
        raise node.unsupported("an empty input is not supported")
    return axes


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis + 1 for axis in axes)


def mean(node: Node) -> Run:
    """The mean over axes. int8, int16, float32."""
    return _over(node, lambda axes: _mean_or_sum(node, axes, is_mean=True))


def total(node: Node) -> Run:
    """The sum over axes. int8, int16, float32."""
    return _over(node, lambda axes: _mean_or_sum(node, axes, is_mean=False))


def _mean_or_sum(node: Node, axes: tuple[int, ...], *, is_mean: bool) -> Run:
    x, output = node.input(0), node.output()
    dtype = node.check_types("int8 int16 float32")
    count = math.prod(x.shape[axis] for axis in axes)
    where = _shifted(axes)

    def real(values: Sequence[Any]) -> list[Array]:
        sums = values[0].astype(np.float64).sum(axis=where)
        y = sums / count if is_mean else sums
        return [y.astype(np.float32).reshape(len(y), *output.shape)]

    if dtype == "float32":
        return real
    multiplier = Multiplier.of(node.scale(x) / node.scale(output), node.rounding)
    if is_mean:
        multiplier = _divided(multiplier, count)
    low, high = limits(output.dtype)

    def rescaled(sums: Array) -> Array:
        y = multiplier.scale(wrap32(wrap32(sums) - x.zero_point * count)) + output.zero_point
        return np.asarray(np.clip(y, low, high), output.dtype)

    def quantized(values: Sequence[Any]) -> list[Array]:
        y = rescaled(values[0].astype(np.int64).sum(axis=where))
        return [y.reshape(len(y), *output.shape)]

    return Prepared(quantized, _sum_table(rescaled, where, count)) if dtype == "int8" else quantized


#: The most int8 elements whose possible sums are put in a table.
_MAX_COUNT = 512


def _sum_table(rescaled: Callable[[Array], Array], where: tuple[int, ...], count: int) -> Bind:
    """``rescaled`` of sums of ``count`` int8 elements, from a table of all possible sums."""

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call] | None:
        if not 0 < count <= _MAX_COUNT:
            return None
        half = 128 * count
        table = work.keep((2 * half,), np.int8)
        table[...] = rescaled(np.roll(np.arange(-half, half), half))
        kept = [size for axis, size in enumerate(inputs[0].shape) if axis not in where]
        sums = work.share("index", kept, np.intp)
        return [
            partial(np.add.reduce, inputs[0], where, np.intp, sums),
            looked_up(table, sums, outputs[0].reshape(kept), "wrap"),
        ]

    return bind


def _divided(multiplier: Multiplier, count: int) -> Multiplier:
    """The multiplier of a mean: divided by ``count`` after the largest safe left shift."""
    shift = min(count.bit_length() - 1, 31 + int(multiplier.shift))
    return Multiplier(
        np.array((int(multiplier.multiplier) << shift) // count),
        np.array(int(multiplier.shift) - shift),
        multiplier.rounding,
    )


def reduce_max(node: Node) -> Run:
    """The largest element over axes. int8 (scale unchanged), float32."""
    return _extreme(node, np.max)


def reduce_min(node: Node) -> Run:
    """The smallest element over axes. int8 (scale unchanged), float32."""
    return _extreme(node, np.min)


def _extreme(node: Node, function: Callable[..., Array]) -> Run:
    x, output = node.input(0), node.output()
    if node.check_types("int8 float32") == "int8" and (
        (x.scale, x.zero_point) != (output.scale, output.zero_point)
    ):
        raise node.refused("its input and output differ in scale or zero point")

    def make(axes: tuple[int, ...]) -> Run:
        where = _shifted(axes)
        return lambda values: [
            function(values[0], axis=where).reshape(len(values[0]), *output.shape)
        ]

    return _over(node, make)


def reduce_all(node: Node) -> Run:
    """Whether all elements over axes are true. bool."""
    node.check_types("bool")
    shape = node.output().shape

    def make(axes: tuple[int, ...]) -> Run:
        where = _shifted(axes)
        return lambda values: [values[0].all(axis=where).reshape(len(values[0]), *shape)]

    return _over(node, make)


def arg_max(node: Node) -> Run:
    """The index (int32) of the first largest element along an axis. int8, float32."""
    return _arg(node, np.argmax)


def arg_min(node: Node) -> Run:
    """The index (int32) of the first smallest element along an axis. int8, float32."""
    return _arg(node, np.argmin)


def _arg(node: Node, function: Callable[..., Array]) -> Run:
    x, output = node.input(0), node.output()
    if x.dtype not in ("int8", "float32") or output.dtype != "int32":
        raise node.unsupported(f"{x.dtype} to {output.dtype} is not supported")
    if node.input(1).elements != 1:
        raise node.bad(f"its axis has {node.input(1).elements} elements")

    def make(given: list[int]) -> Run:
        axis = positive_axis(node, given[0], len(x.shape))
        node.check_output([*x.shape[:axis], *x.shape[axis + 1 :]])
        if x.shape[axis] == 0:
            raise node.bad("its axis is empty")
        return lambda values: [function(values[0], axis=axis + 1).astype(np.int32)]

    return parametrized(node, (1,), make)
