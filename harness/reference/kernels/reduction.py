"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, ARG_MAX, ARG_MIN.

Source: TensorFlow Lite operator specification. A quantized mean folds 1 / count into the
multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized
from harness.reference.scale import Clamp, Multiplier, wrap32


def _over(node: Node, make: Callable[[tuple[int, ...]], Run]) -> Run:
    """The function that runs ``make(axes)``, axes from input 1 (int32), constant or computed."""
    return parametrized(node, (1,), lambda given: make(_axes(node, given)))


def _axes(node: Node, given: Sequence[int]) -> tuple[int, ...]:
    """The axes to reduce, each once, without the runs axis. Raises BadModel for a wrong output."""
    shape = node.input(0).shape
    axes = tuple(sorted({node.axis(axis, len(shape)) for axis in given}))
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
    divisor = int(node.hooks.divisor(np.array(count)))
    where = _shifted(axes)

    if dtype == "float32":

        def real(x: Array, _: Array) -> Array:
            sums = np.asarray(x.sum(axis=where, dtype=np.float64))
            y = sums / divisor if is_mean else sums
            return y.astype(np.float32).reshape(len(x), *output.shape)

        return real
    multiplier = node.multiplier(node.scale(x) / node.scale(output))
    if is_mean:
        multiplier = _divided(multiplier, divisor)
    requantize = node.rescaled(multiplier, output.zero_point, Clamp.whole(dtype))

    def quantized(q: Array, _: Array) -> Array:
        sums = wrap32(q.sum(axis=where, dtype=np.int64)) - x.zero_point * count
        return requantize(sums).reshape(len(q), *output.shape)

    return quantized


def _divided(multiplier: Multiplier, count: int) -> Multiplier:
    """The multiplier of a mean: ``multiplier`` / count, after the largest safe left shift."""
    shift = min(count.bit_length() - 1, 31 + int(multiplier.shift))
    return replace(
        multiplier,
        multiplier=np.array((int(multiplier.multiplier) << shift) // count),
        shift=np.array(int(multiplier.shift) - shift),
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
        return lambda x, _: function(x, axis=where).reshape(len(x), *output.shape)

    return _over(node, make)


def reduce_all(node: Node) -> Run:
    """The logical AND over axes. bool."""
    node.check_types("bool")
    shape = node.output().shape

    def make(axes: tuple[int, ...]) -> Run:
        where = _shifted(axes)
        return lambda x, _: x.all(axis=where).reshape(len(x), *shape)

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
        axis = node.axis(given[0], len(x.shape))
        node.check_output([*x.shape[:axis], *x.shape[axis + 1 :]])
        if x.shape[axis] == 0:
            raise node.bad("its axis is empty")
        return lambda x, _: function(x, axis=axis + 1).astype(np.int32)

    return parametrized(node, (1,), make)
