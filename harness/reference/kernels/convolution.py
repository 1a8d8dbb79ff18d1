"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV.

Tensors are NHWC. y[n, i, j, o] = activation(sum over the window of x * w + bias[o]); outside the
image the real value is 0. Source: TensorFlow Lite's operator and 8-bit quantization
specifications (weights symmetric, one scale for each output channel).

The sums are exact (see :mod:`harness.reference.exact`), so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from harness.model import Tensor
from harness.reference.activation import clamp_for
from harness.reference.bind import Call, Prepared, Workspace, copied
from harness.reference.exact import ExactMatrix
from harness.reference.fixedpoint import Array
from harness.reference.node import Node, Run
from harness.reference.requantize import (
    Requantizer,
    channel_multiplier,
    check_weight_types,
    largest_input,
    without_zero_point,
)
from harness.reference.window import MAX_ELEMENTS, Window, check_products

#: Elements of the images in one block of a depthwise convolution: they stay in the cache.
_BLOCK = 1 << 16

#: From product sums (runs, N, height, width, channels) and the node's inputs to the output.
_Finish = Callable[[Array, Sequence[Any]], Array]


def conv_2d(node: Node) -> Run:
    """Input (N, H, W, C), weights (outputs, kh, kw, C / groups), optional bias (outputs,).

    int8 x int8, int8 x int4, int16 x int8, float32; dilation, stride, groups.
    """
    node = _symmetric(node)
    x, weights = node.input(0), node.input(1)
    _check_rank(node, weights)
    outputs, kh, kw, depth = weights.shape
    window = Window.of(node, (kh, kw), dilated=True)
    node.check_output((x.shape[0], window.height.out, window.width.out, outputs))
    groups, rest = divmod(x.shape[3], depth)
    if rest or groups == 0 or outputs % groups:
        raise node.bad(f"{x.shape[3]} input channels, {outputs} filters of {depth} channels")
    w = _weights(node, weights).reshape(groups, outputs // groups, kh * kw * depth)
    return _windows(node, window, w.transpose(0, 2, 1))


def depthwise_conv_2d(node: Node) -> Run:
    """Input (N, H, W, C), weights (1, kh, kw, C * multiplier), optional bias.

    Output channel c * multiplier + m comes from input channel c. int8 x int8, int8 x int4,
    int16 x int8, float32.
    """
    node = _symmetric(node)
    x, weights = node.input(0), node.input(1)
    _check_rank(node, weights)
    one, kh, kw, outputs = weights.shape
    window = Window.of(node, (kh, kw), dilated=True)
    node.check_output((x.shape[0], window.height.out, window.width.out, outputs))
    if one != 1 or outputs % x.shape[3]:
        raise node.bad(f"weights {list(weights.shape)} for {x.shape[3]} input channels")
    if node.option("depth_multiplier") * x.shape[3] != outputs:
        raise node.bad(f"its depth multiplier {node.option('depth_multiplier')} does not fit")
    w = _weights(node, weights)
    if x.shape[3] == 1:
        return _windows(node, window, w.reshape(1, kh * kw, outputs), wide_biases="int64")
    return _depthwise(node, window, w.reshape(kh, kw, outputs))


def transpose_conv(node: Node) -> Run:
    """Inputs: output shape, weights (outputs, kh, kw, C), input (N, H, W, C), optional bias.

    Every input element adds x * w to the outputs of its window. int8, int16 x int8, float32.
    """
    # The rest of this module takes inputs as (input, weights, bias).
    turned = _symmetric(_reorder_transpose(node))
    x, weights, output = turned.input(0), turned.input(1), node.output()
    _check_rank(node, weights)
    if len(output.shape) != 4 or len(x.shape) != 4 or 0 in output.shape + x.shape:
        raise node.bad(f"input {list(x.shape)}, output {list(output.shape)}")
    outputs, kh, kw, depth = weights.shape
    if (x.shape[0], x.shape[3], output.shape[3]) != (output.shape[0], depth, outputs):
        raise node.bad(
            f"input {list(x.shape)}, weights {list(weights.shape)}, output {list(output.shape)}"
        )
    scatter = Scatter.of(turned, (kh, kw))
    w = _weights(turned, weights)
    matrix, finish = _matrix_and_finish(turned, w.reshape(outputs, -1).T, wide_biases="int64 int16")
    columns = w.transpose(3, 1, 2, 0).reshape(depth, kh * kw * outputs)
    table = ExactMatrix(np.ascontiguousarray(columns, matrix.dtype), matrix.bound)
    check_products(node, x.elements * kh * kw * outputs)

    def run(values: Sequence[Any]) -> list[Array]:
        ordered = [values[2], values[1], *values[3:]]
        images = ordered[0].reshape(-1, *x.shape[1:])
        sums = scatter(table, table.centred(images, x.zero_point))
        return [finish(sums.reshape(-1, *output.shape), ordered)]

    return run


def _reorder_transpose(node: Node) -> Node:
    if not node.present(1) or not node.present(2):
        raise node.bad("its weights or its input are missing")
    inputs = (node.inputs[2], node.inputs[1], *node.inputs[3:])
    return replace(node, inputs=inputs)


@dataclass(frozen=True)
class Scatter:
    """The places in the output for the elements of a transposed convolution's input."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    before: tuple[int, int]
    canvas: tuple[int, int]
    out: tuple[int, int, int]

    @classmethod
    def of(cls, node: Node, kernel: tuple[int, int]) -> Scatter:
        """The padding is that of the convolution from the output's size to the input's."""
        stride = (node.option("stride_h"), node.option("stride_w"))
        x, y = node.input(0).shape, node.output().shape
        if min(*stride, *kernel) < 1 or node.option("padding") not in ("SAME", "VALID"):
            raise node.bad(f"stride {stride}, kernel {kernel}, padding {node.option('padding')}")
        before = [0, 0]
        for a in (0, 1):
            if node.option("padding") == "SAME":
                out = -(-y[1 + a] // stride[a])
            else:
                out = (y[1 + a] + stride[a] - kernel[a]) // stride[a]
            before[a] = max(0, (out - 1) * stride[a] + kernel[a] - y[1 + a]) // 2
        canvas = tuple(
            max((x[1 + a] - 1) * stride[a] + kernel[a], before[a] + y[1 + a]) for a in (0, 1)
        )
        if canvas[0] * canvas[1] * y[0] * y[3] > MAX_ELEMENTS:
            raise node.bad("its output is too large for any microcontroller")
        return cls(
            kernel, stride, (before[0], before[1]), (canvas[0], canvas[1]), (y[1], y[2], y[3])
        )

    def __call__(self, table: ExactMatrix, images: Array) -> Array:
        """Sums (N, out height, out width, outputs) of ``images`` (N, H, W, C)."""
        n, height, width, _ = images.shape
        (kh, kw), (sh, sw), (top, left) = self.kernel, self.stride, self.before
        rows, columns, outputs = self.out
        sums = np.zeros((n, *self.canvas, outputs), table.dtype)
        for i in range(kh):
            for j in range(kw):
                start = (i * kw + j) * outputs
                part = images @ table.matrix[:, start : start + outputs]
                down = slice(i, i + (height - 1) * sh + 1, sh)
                across = slice(j, j + (width - 1) * sw + 1, sw)
                sums[:, down, across] += part
        return sums[:, top : top + rows, left : left + columns]


def _symmetric(node: Node) -> Node:
    """Without zero points of int16 activations, which TFLM ignores here, as those of weights."""
    if node.input(0).dtype != "int16":
        return node
    if node.output().zero_point and node.option("fused_activation_function") != "NONE":
        raise node.bad("its int16 output has a zero point and a fused activation")
    inputs = (without_zero_point(node.input(0)), *node.inputs[1:])
    return replace(node, inputs=inputs, outputs=(without_zero_point(node.output()),))


def _check_rank(node: Node, weights: Tensor) -> None:
    if len(weights.shape) != 4 or 0 in weights.shape:
        raise node.bad(f"its weights have the shape {list(weights.shape)}")


def _weights(node: Node, weights: Tensor) -> Array:
    check_weight_types(node, weights, int4=node.operator.name != "TRANSPOSE_CONV")
    value = node.constant(1)
    if value is None:
        raise node.unsupported("its weights are computed at run time, not constants of the model")
    return value


def _matrix_and_finish(
    node: Node, weights: Array, *, wide_biases: str
) -> tuple[ExactMatrix, _Finish]:
    """The exact form of ``weights`` (window, outputs), and the function behind the sums."""
    outputs = weights.shape[1]
    if node.input(0).dtype == "float32":
        return ExactMatrix.real(weights), _finish_real(node)
    matrix = ExactMatrix.of(weights, largest_input(node.input(0)))
    multiplier = channel_multiplier(node, node.input(1), outputs)
    return matrix, Requantizer.of(
        node, multiplier, outputs, bound=matrix.bound, wide_biases=wide_biases
    )


def _finish_real(node: Node) -> _Finish:
    clamp = clamp_for(node, node.output())

    def finish(sums: Array, values: Sequence[Any]) -> Array:
        if node.present(2):
            sums = sums + values[2].reshape(len(values[2]), *(1,) * (sums.ndim - 2), -1)
        return clamp(sums.astype(np.float32))

    return finish


def _windows(
    node: Node, window: Window, weights: Array, *, wide_biases: str = "int32 int64"
) -> Run:
    """Convolution as matrix products: ``weights`` of shape (groups, window, outputs / groups)."""
    x, output = node.input(0), node.output()
    groups, size, filters = weights.shape
    joined = weights.transpose(1, 0, 2).reshape(size, groups * filters)
    matrix, finish = _matrix_and_finish(node, joined, wide_biases=wide_biases)
    check_products(node, output.elements * size)
    pointwise, whole = (groups == 1 and one for one in (window.pointwise, window.whole))

    def run(values: Sequence[Any]) -> list[Array]:
        images = matrix.centred(values[0].reshape(-1, *x.shape[1:]), x.zero_point)
        if pointwise:
            sums = matrix.product(images)
        elif whole:
            sums = matrix.product(window.pad(images, 0).reshape(-1, size))
        else:
            sums = _gathered(window, window.pad(images, 0), matrix.matrix, groups)
        return [finish(sums.reshape(-1, *output.shape), values)]

    folded = finish.folded(joined, x) if isinstance(finish, Requantizer) else None
    if folded is None or groups > 1:
        return run

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], work: Workspace) -> list[Call]:
        padded, before = window.bound(inputs[0].reshape(x.shape), x.zero_point, work)
        return [*before, *folded.bind(window.view(padded), outputs[0], work)]

    def small(values: Sequence[Any]) -> list[Array]:
        images = values[0].reshape(-1, *x.shape[1:])
        rows = window.pad(images, x.zero_point).reshape(-1, size)
        return [folded(rows).reshape(-1, *output.shape)]

    return Prepared(small if folded.small and whole else run, bind)


def _gathered(window: Window, padded: Array, matrix: Array, groups: int) -> Array:
    """Product sums (N, out height, out width, outputs), a block of windows at a time."""
    view = window.view(padded)
    depth = padded.shape[3] // groups
    size, outputs = matrix.shape
    filters = outputs // groups
    sums = np.empty((*view.shape[:3], outputs), matrix.dtype)
    for block in window.blocks(len(padded), size):
        for group in range(groups):
            columns = slice(group * filters, (group + 1) * filters)
            windows = view[block][..., group * depth : (group + 1) * depth]
            part = windows.reshape(-1, size) @ matrix[:, columns]
            sums[(*block, columns)] = part.reshape(*windows.shape[:3], filters)
    return sums


def _depthwise(node: Node, window: Window, weights: Array) -> Run:
    """Depthwise convolution: ``weights`` (kh, kw, outputs)."""
    x, output = node.input(0), node.output()
    kh, kw, outputs = weights.shape
    matrix, finish = _matrix_and_finish(
        node, weights.reshape(kh * kw, outputs), wide_biases="int64"
    )
    check_products(node, output.elements * kh * kw)
    product = (_one_window if window.whole else _tap_by_tap)(node, window, matrix)
    repeat = outputs // x.shape[3]

    def run(values: Sequence[Any]) -> list[Array]:
        images = values[0].reshape(-1, *x.shape[1:])
        return [finish(product(images).reshape(-1, *output.shape), values)]

    folded = (
        finish.folded(weights.reshape(-1, outputs), x) if isinstance(finish, Requantizer) else None
    )
    if folded is None or x.shape[0] != 1:
        return run
    w = folded.matrix[:-1].reshape(kh, kw, 1, 1, outputs)

    def bind(inputs: Sequence[Any], outs: Sequence[Array], work: Workspace) -> list[Call]:
        image, before = _image(inputs[0].reshape(x.shape), window, repeat, x.zero_point, work)
        taps = window.view(image)[0].transpose(2, 3, 0, 1, 4)
        rows = work.keep((kh, kw, 1, *taps.shape[3:]), np.float64)
        rows[...] = w
        offset = work.keep(output.shape[1:], np.float64)
        offset[...] = folded.matrix[-1]
        terms = work.share("terms", taps.shape, np.float64)
        u = work.share("sums", offset.shape, np.float64)
        return [
            *before,
            partial(np.multiply, taps, rows, terms),
            partial(np.add.reduce, terms.reshape(kh * kw, *u.shape), 0, None, u),
            partial(np.add, u, offset, u),
            *folded.finish.calls(u.reshape(-1, outputs), outs[0], work),
        ]

    return Prepared(run, bind)


def _one_window(node: Node, window: Window, matrix: ExactMatrix) -> Callable[[Array], Array]:
    """Sums (N, outputs), for an image with a single window."""
    zero_point, (taps, outputs) = node.input(0).zero_point, matrix.matrix.shape
    repeat = outputs // node.input(0).shape[3]
    outside = zero_point * matrix.matrix.sum(axis=0)  # the share of the zero point in each sum

    def sums(images: Array) -> Array:
        padded = window.pad(images.astype(matrix.dtype), zero_point)
        if repeat > 1:
            padded = np.repeat(padded, repeat, axis=3)
        total = np.einsum("ntc,tc->nc", padded.reshape(-1, taps, outputs), matrix.matrix)
        return np.asarray(total - outside)

    return sums


def _tap_by_tap(node: Node, window: Window, matrix: ExactMatrix) -> Callable[[Array], Array]:
    """Sums (N, out height, out width * outputs), of a block of images at a time."""
    x, outputs = node.input(0), matrix.matrix.shape[1]
    kernel, width = (window.height.kernel, window.width.kernel), window.width.out
    # One row of outputs is one stretch of memory: the weights are repeated along it.
    rows = np.tile(matrix.matrix.reshape(*kernel, 1, outputs), (1, 1, width, 1))
    rows = rows.reshape(*kernel, width * outputs)
    repeat = outputs // x.shape[3]
    step = max(1, _BLOCK // (x.elements // x.shape[0] * repeat))

    def sums(images: Array) -> Array:
        total = np.empty((len(images), window.height.out, rows.shape[2]), matrix.dtype)
        for start in range(0, len(images), step):
            block = slice(start, start + step)
            padded = window.pad(matrix.centred(images[block], x.zero_point), 0)
            if repeat > 1:
                padded = np.repeat(padded, repeat, axis=3)
            _taps(window, padded, rows, total[block])
        return total

    return sums


def _image(
    x: Array, window: Window, repeat: int, zero_point: int, work: Workspace
) -> tuple[Array, list[Call]]:
    """A padded float64 buffer of ``x`` with each channel repeated, and the calls that fill it."""
    h, w = window.height, window.width
    shape = (len(x), h.padded, w.padded, x.shape[3] * repeat)
    image = work.keep(shape, np.float64, zero_point)
    inside = window.inside(image).reshape(*x.shape, repeat)
    return image, [copied(inside, x[..., None])]


def _taps(window: Window, padded: Array, rows: Array, sums: Array) -> None:
    """Into ``sums``: ``rows`` (kh, kw, out width * outputs) times the shifted images."""
    height, width = window.height, window.width
    sums[...] = 0
    term = np.empty_like(sums)
    for j in range(width.kernel):
        columns = padded[:, :, width.tap(j)]
        columns = columns.reshape(*columns.shape[:2], -1)
        for i in range(height.kernel):
            np.multiply(columns[:, height.tap(i)], rows[i, j], out=term)
            sums += term
