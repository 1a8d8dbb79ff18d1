"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR on NHWC tensors.

Source: TensorFlow Lite operator specification. int8 bilinear weights have 10 fraction bits on each
axis; float32 is computed in single precision with TFLM's order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.quantization import round_away


def _check(node: Node, allowed: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """(height, width) of the input and of the output."""
    x = node.input(0)
    node.check_types(allowed)
    size = node.integers(1, "its size")
    if len(x.shape) != 4 or len(size) != 2 or min(*x.shape, *size) < 1:
        raise node.bad(f"the size {size} is invalid for the input {list(x.shape)}")
    node.check_output((x.shape[0], size[0], size[1], x.shape[3]))
    return (x.shape[1], x.shape[2]), (size[0], size[1])


def resize_nearest_neighbor(node: Node) -> Run:
    """Each output element is the nearest input element. int8, int16, float32."""
    before, after = _check(node, "int8 int16 float32")
    rows, columns = (_nearest(node, *sizes) for sizes in zip(before, after, strict=True))
    return lambda x, _: x[:, :, rows][:, :, :, columns]


def _nearest(node: Node, before: int, after: int) -> Array:
    """The source indices along an axis of ``before`` elements resized to ``after``."""
    align, half = node.option("align_corners"), node.option("half_pixel_centers")
    f32 = np.float32
    scale = f32(before - 1) / f32(after - 1) if align and after > 1 else f32(before) / f32(after)
    position = (np.arange(after, dtype=f32) + f32(0.5 if half else 0)) * scale
    index = (round_away(position) if align else np.floor(position)).astype(np.int64)
    return np.clip(index, 0, before - 1)


def resize_bilinear(node: Node) -> Run:
    """Each output element is interpolated between four input elements. int8, float32."""
    before, after = _check(node, "int8 float32")
    if node.option("align_corners") and node.option("half_pixel_centers"):
        raise node.bad("align_corners and half_pixel_centers exclude each other")
    if node.input(0).dtype == "int8":
        axes = [_fixed_axis(node, *sizes) for sizes in zip(before, after, strict=True)]
        return _bilinear(axes, _fixed_sum(node))
    axes = [_real_axis(node, *sizes) for sizes in zip(before, after, strict=True)]
    return _bilinear(axes, _real_sum)


#: (index of the lower neighbour, of the upper one, weight of the lower, of the upper)
_Axis = tuple[Array, Array, Array, Array]


def _real_axis(node: Node, before: int, after: int) -> _Axis:
    f32 = np.float32
    scale = f32(before) / f32(after)
    if node.option("align_corners") and after > 1:
        scale = f32(before - 1) / f32(after - 1)
    position = np.arange(after, dtype=f32) * scale
    if node.option("half_pixel_centers"):
        position = (np.arange(after, dtype=f32) + f32(0.5)) * scale - f32(0.5)
    low = np.maximum(np.floor(position).astype(np.int64), 0)
    high = np.minimum(np.ceil(position).astype(np.int64), before - 1)
    fraction = position - low.astype(f32)
    return np.minimum(low, before - 1), high, f32(1) - fraction, fraction


def _fixed_axis(node: Node, before: int, after: int) -> _Axis:
    scale = ((before << 10) + after // 2) // after
    if node.option("align_corners") and after > 1:
        scale = (((before - 1) << 10) + (after - 1) // 2) // (after - 1)
    position = np.arange(after, dtype=np.int64) * scale
    if node.option("half_pixel_centers"):
        position += scale // 2 - (1 << 9)
    low = np.maximum(_truncated_shift(position, 10), 0)
    high = np.minimum(_truncated_shift(position + 1023, 10), before - 1)
    fraction = position - (low << 10)
    return np.minimum(low, before - 1), high, 1024 - fraction, fraction


def _truncated_shift(x: Array, bits: int) -> Array:
    """x / 2^bits, toward zero, like C's division."""
    return np.asarray(np.sign(x) * (np.abs(x) >> bits))


def _bilinear(axes: Sequence[_Axis], combine: Callable[[Sequence[Array]], Array]) -> Run:
    (top, bottom, upper, lower), (left, right, before, after) = axes
    upper, lower = (w[:, None, None] for w in (upper, lower))
    before, after = (w[:, None] for w in (before, after))

    def run(x: Array, _: Array) -> Array:
        wide = x.astype(np.int64) if x.dtype.kind == "i" else x
        rows = wide[:, :, top], wide[:, :, bottom]
        corners = [row[:, :, :, column] for column in (left, right) for row in rows]
        weights = [(upper, before), (lower, before), (upper, after), (lower, after)]
        terms = [c * h * w for c, (h, w) in zip(corners, weights, strict=True)]
        return combine(terms).astype(x.dtype)

    return run


def _real_sum(terms: Sequence[Array]) -> Array:
    return terms[0] + terms[1] + terms[2] + terms[3]


def _fixed_sum(node: Node) -> Callable[[Sequence[Array]], Array]:
    half = 1 << 19

    def combine(terms: Sequence[Array]) -> Array:
        total = _real_sum(terms)
        if node.rounding == "single":
            return np.asarray((total + half) >> 20)
        return _truncated_shift(total + np.where(total > 0, half, -half), 20)

    return combine
