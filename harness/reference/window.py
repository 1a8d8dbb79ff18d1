"""Sliding windows over height and width, for convolutions and pooling.

Tensors are NHWC. The axis of runs is merged into N, because images are independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node

#: Most elements of a padded input, and taps of a window: bounds for the memory that a damaged model
#: takes.
MAX_ELEMENTS = 1 << 24
MAX_TAPS = 1 << 16
#: Elements of one block of gathered windows: 1 MiB of float64 fits in the cache.
BLOCK = 1 << 17


@dataclass(frozen=True)
class Axis:
    """The windows along one spatial axis, in elements; ``before`` is the padding at its start."""

    size: int
    kernel: int
    stride: int
    dilation: int
    out: int
    before: int

    @property
    def padded(self) -> int:
        """The size of the padded axis, which contains all windows and the image."""
        reach = (self.out - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return max(reach, self.before + self.size)

    def tap(self, index: int) -> slice:
        """The elements of the padded axis under tap ``index`` of the windows."""
        start = index * self.dilation
        return slice(start, start + (self.out - 1) * self.stride + 1, self.stride)


def axis(node: Node, size: int, kernel: int, stride: int, dilation: int) -> Axis:
    """The axis with TensorFlow's padding SAME or VALID (``ComputePaddingHeightWidth``).

    Raises BadModel for sizes below 1, and for a kernel larger than the input.
    """
    if min(size, kernel, stride, dilation) < 1:
        raise node.bad(
            f"size {size}, kernel {kernel}, stride {stride} or dilation {dilation} is not positive"
        )
    extent = (kernel - 1) * dilation + 1
    padding = node.option("padding")
    if padding == "SAME":
        out = -(-size // stride)
    elif padding == "VALID":
        out = (size + stride - extent) // stride
    else:
        raise node.bad(f"its padding is {padding}")
    if out < 1:
        raise node.bad(f"a kernel of {extent} does not fit an input of {size}")
    total = max(0, (out - 1) * stride + extent - size)
    return Axis(size, kernel, stride, dilation, out, total // 2)


@dataclass(frozen=True)
class Window:
    """The windows over height and width."""

    height: Axis
    width: Axis

    @classmethod
    def of(cls, node: Node, kernel: tuple[int, int], *, dilated: bool) -> Window:
        """The windows of a node, from its input shape and options; ``kernel`` is (height, width).

        Raises BadModel.
        """
        shape = node.input(0).shape
        if len(shape) != 4:
            raise node.bad(f"its input has the shape {list(shape)}, not four axes")
        if 0 in shape:
            raise node.bad(f"its input {list(shape)} is empty")
        if kernel[0] * kernel[1] > MAX_TAPS:
            raise node.bad(
                f"a kernel of {kernel[0]} x {kernel[1]} has more than {MAX_TAPS} elements"
            )
        h_factor = node.option("dilation_h_factor") if dilated else 1
        w_factor = node.option("dilation_w_factor") if dilated else 1
        window = cls(
            axis(node, shape[1], kernel[0], node.option("stride_h"), h_factor),
            axis(node, shape[2], kernel[1], node.option("stride_w"), w_factor),
        )
        if window.height.padded * window.width.padded * shape[0] * shape[3] > MAX_ELEMENTS:
            raise node.bad(f"its padded input has more than {MAX_ELEMENTS} elements")
        hooked: Window = node.hooks.window(window)
        return hooked

    def pad(self, x: Array, value: float) -> Array:
        """``x`` (N, height, width, C), padded with ``value`` if windows reach outside."""
        h, w = self.height, self.width
        if (h.padded, w.padded) == (h.size, w.size):
            return x
        padded = np.full((len(x), h.padded, w.padded, x.shape[3]), value, x.dtype)
        padded[:, h.before : h.before + h.size, w.before : w.before + w.size] = x
        return padded

    def view(self, padded: Array) -> Array:
        """All windows as a view: (N, out height, out width, kernel height, kernel width, C)."""
        h, w = self.height, self.width
        n, rows, columns, channels = padded.strides
        return np.lib.stride_tricks.as_strided(
            padded,
            (len(padded), h.out, w.out, h.kernel, w.kernel, padded.shape[3]),
            (
                n,
                rows * h.stride,
                columns * w.stride,
                rows * h.dilation,
                columns * w.dilation,
                channels,
            ),
            writeable=False,
        )

    def blocks(self, images: int, depth: int) -> Iterator[tuple[slice, slice, slice]]:
        """Slices of (N, out height, out width), each with at most BLOCK elements in its windows.

        ``depth`` is the number of elements of one window.
        """
        room = max(1, BLOCK // max(depth, 1))
        columns = min(self.width.out, room)
        rows = min(self.height.out, max(1, room // columns))
        batch = max(1, room // (rows * columns))
        for n in range(0, images, batch):
            for row in range(0, self.height.out, rows):
                for column in range(0, self.width.out, columns):
                    yield (
                        slice(n, min(n + batch, images)),
                        slice(row, min(row + rows, self.height.out)),
                        slice(column, min(column + columns, self.width.out)),
                    )
