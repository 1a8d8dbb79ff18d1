"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D on NHWC tensors; padding is excluded.

Source: TensorFlow Lite operator specification. Integer averages round halves away from zero and are
not requantized: input and output have the same scale and zero point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import FLOAT_MAX, NUMPY_TYPES, Node, Run
from harness.reference.products import check_products
from harness.reference.window import Window

_SAME_SCALE = 1e-6


def _window(node: Node) -> Window:
    """The windows of a pooling operator, which is checked."""
    x, output = node.input(0), node.output()
    kernel = (node.option("filter_height"), node.option("filter_width"))
    window = Window.of(node, kernel, dilated=False)
    node.check_output((x.shape[0], window.height.out, window.width.out, x.shape[3]))
    if node.check_types("int8 int16 float32") != "float32" and (
        abs(x.scale - output.scale) > _SAME_SCALE or x.zero_point != output.zero_point
    ):
        raise node.refused("its input and output differ in scale or zero point")
    check_products(node, output.elements * kernel[0] * kernel[1])
    return window


def max_pool_2d(node: Node) -> Run:
    """Input and output (N, H, W, C): the largest element of each window; NaN is ignored."""
    window = _window(node)
    dtype = NUMPY_TYPES[node.input(0).dtype]
    lowest = -FLOAT_MAX if dtype.kind == "f" else int(np.iinfo(dtype).min)

    def largest(images: Array) -> Array:
        taps = _reduce(window, images, np.fmax)
        return np.asarray(np.fmax(taps, dtype.type(lowest), out=taps))

    return _pool(node, window, lowest, dtype, largest)


def average_pool_2d(node: Node) -> Run:
    """Input and output (N, H, W, C): the mean of each window's elements inside the image."""
    window = _window(node)
    count = _divisors(node, window)

    def average(images: Array) -> Array:
        sums = _reduce(window, images, np.add)
        if images.dtype.kind == "f":
            return np.asarray(sums / count, np.float32)
        return node.hooks.quotient(sums, count)

    wide = np.dtype(np.float64 if node.input(0).dtype == "float32" else np.int64)
    return _pool(node, window, 0, wide, average)


def l2_pool_2d(node: Node) -> Run:
    """Input and output (N, H, W, C): the root of the mean square of each window. float32."""
    node.check_types("float32")
    window = _window(node)
    count = _divisors(node, window)

    def root(images: Array) -> Array:
        squares = _reduce(window, np.square(images), np.add)
        return np.sqrt((squares / count).astype(np.float32))

    return _pool(node, window, 0, np.dtype(np.float64), root)


def _divisors(node: Node, window: Window) -> Array:
    """The number of elements of each window inside the image: (1, out height, out width, 1)."""
    inside = window.pad(np.ones((1, *node.input(0).shape[1:3], 1), np.int64), 0)
    count = _reduce(window, inside, np.add)
    if not count.all():
        raise node.bad("a window is entirely outside the image")
    return node.hooks.divisor(count)


def _pool(
    node: Node,
    window: Window,
    outside: float,
    dtype: np.dtype[Any],
    reduce: Callable[[Array], Array],
) -> Run:
    """``reduce`` of the input as ``dtype``, padded with ``outside``; then the activation."""
    shape, output, clamp = node.input(0).shape, node.output().shape, node.clamp()

    def run(x: Array) -> Array:
        images = x.reshape(-1, *shape[1:]).astype(dtype, copy=False)
        return clamp(reduce(window.pad(images, outside))).reshape(-1, *output)

    return run


def _reduce(window: Window, padded: Array, combine: Callable[..., Array]) -> Array:
    """The elements of every window, reduced by ``combine``: (N, out height, out width, C)."""
    height, width = window.height, window.width
    result = padded[:, height.tap(0), width.tap(0)].copy()
    for i in range(height.kernel):
        for j in range(width.kernel):
            if i or j:
                combine(result, padded[:, height.tap(i), width.tap(j)], out=result)
    return result
