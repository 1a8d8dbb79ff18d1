"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV.

Tensors are NHWC. y[n, i, j, o] = activation(sum over the window of x * w + bias[o]); outside the
image the real value is 0. Source: TensorFlow Lite's operator and 8-bit quantization
specifications (weights symmetric, one scale for each output channel).

Integers: the accumulator of o is the sum over the window of (x - zero point of x) * w, plus
bias[o]. It is requantized (:mod:`harness.reference.scale`): scaled by
scale(x) * scale(w[o]) / scale(y) in fixed point, plus the zero point of y, clamped to the range of
the activation.

The sums are exact (see :mod:`harness.reference.products`), so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.products import (
    Output,
    centred,
    channel_multiplier,
    check_products,
    check_weight_types,
    integer_output,
    real_output,
    without_zero_point,
)
from harness.reference.window import MAX_ELEMENTS, Window


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
    size = kh * kw * depth
    w = _weights(node, weights).reshape(groups, outputs // groups, size).transpose(0, 2, 1)
    finish = _output(node, outputs, "int32 int64")
    check_products(node, node.output().elements * size)
    return _convolution(node, window, lambda padded: _sums(window, padded, w), finish)


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
    channels = x.shape[3]
    if one != 1 or outputs % channels:
        raise node.bad(f"weights {list(weights.shape)} for {channels} input channels")
    if node.option("depth_multiplier") * channels != outputs:
        raise node.bad(f"its depth multiplier {node.option('depth_multiplier')} does not fit")
    w = _weights(node, weights)
    finish = _output(node, outputs, "int64")
    check_products(node, node.output().elements * kh * kw)
    if channels == 1:  # one filter bank over one channel: an ordinary convolution
        w = w.reshape(1, kh * kw, outputs)
        return _convolution(node, window, lambda padded: _sums(window, padded, w), finish)
    w = w.reshape(kh, kw, channels, outputs // channels)
    # With one filter per channel, NumPy sums faster over four axes than over five.
    terms, w = ("nhwijc,ijc->nhwc", w[..., 0]) if outputs == channels else ("nhwijc,ijcm->nhwcm", w)
    return _convolution(
        node, window, lambda padded: np.einsum(terms, window.view(padded), w), finish
    )


def _convolution(node: Node, window: Window, sums: Callable[[Array], Array], finish: Output) -> Run:
    """A convolution: ``sums`` of padded, centred images (N, height, width, C), then ``finish``.

    ``sums`` returns (N, out height, out width, outputs).
    """
    zero_point, shape = node.input(0).zero_point, node.input(0).shape
    output = node.output().shape

    def run(x: Array, _: Array, bias: Array | None = None) -> Array:
        images = centred(x, zero_point).reshape(-1, *shape[1:])
        return finish(sums(window.pad(images, 0)).reshape(-1, *output), bias)

    return run


def _sums(window: Window, padded: Array, weights: Array) -> Array:
    """Sums of products (N, out height, out width, outputs), a block of windows at a time.

    ``weights`` are (groups, elements of a window, outputs / groups).
    """
    view = window.view(padded)
    groups, size, filters = weights.shape
    depth = padded.shape[3] // groups
    sums = np.empty((*view.shape[:3], groups * filters))
    for block in window.blocks(len(padded), size):
        for group in range(groups):
            windows = view[block][..., group * depth : (group + 1) * depth]
            part = windows.reshape(-1, size) @ weights[group]
            columns = slice(group * filters, (group + 1) * filters)
            sums[(*block, columns)] = part.reshape(*windows.shape[:3], filters)
    return sums


def transpose_conv(node: Node) -> Run:
    """Inputs: output shape, weights (outputs, kh, kw, C), input (N, H, W, C), optional bias.

    Every input element adds x * w to the outputs of its window. int8, int16 x int8, float32.
    """
    reordered = _symmetric(_reordered(node))
    x, weights, output = reordered.input(0), reordered.input(1), node.output()
    _check_rank(node, weights)
    if len(output.shape) != 4 or len(x.shape) != 4 or 0 in output.shape + x.shape:
        raise node.bad(f"input {list(x.shape)}, output {list(output.shape)}")
    outputs, kh, kw, depth = weights.shape
    if (x.shape[0], x.shape[3], output.shape[3]) != (output.shape[0], depth, outputs):
        raise node.bad(
            f"input {list(x.shape)}, weights {list(weights.shape)}, output {list(output.shape)}"
        )
    scatter = Scatter.of(reordered, (kh, kw))
    w = np.ascontiguousarray(_weights(reordered, weights).transpose(1, 2, 3, 0))
    finish = _output(reordered, outputs, "int64 int16")
    check_products(node, x.elements * kh * kw * outputs)

    def run(_: Array, __: Array, value: Array, bias: Array | None = None) -> Array:
        images = centred(value, x.zero_point).reshape(-1, *x.shape[1:])
        return finish(scatter(images, w).reshape(-1, *output.shape), bias)

    return run


def _reordered(node: Node) -> Node:
    """TRANSPOSE_CONV with the inputs of the other convolutions: input, weights, bias."""
    if not node.present(1) or not node.present(2):
        raise node.bad("its weights or its input are missing")
    inputs = (node.inputs[2], node.inputs[1], *node.inputs[3:])
    return replace(node, inputs=inputs)


@dataclass(frozen=True)
class Scatter:
    """The geometry of a transposed convolution; pairs are (height, width).

    ``canvas`` is the size of the full output, of which the output of size ``out`` begins at
    ``before``.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    before: tuple[int, int]
    canvas: tuple[int, int]
    out: tuple[int, int]

    @classmethod
    def of(cls, node: Node, kernel: tuple[int, int]) -> Scatter:
        """The geometry of ``node``, whose padding is that of the inverse convolution."""
        stride = (node.option("stride_h"), node.option("stride_w"))
        x, y = node.input(0).shape, node.output().shape
        if min(*stride, *kernel) < 1 or node.option("padding") not in ("SAME", "VALID"):
            raise node.bad(
                f"stride {stride}, kernel {kernel} or padding {node.option('padding')} is invalid"
            )
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
            raise node.bad(f"its output has more than {MAX_ELEMENTS} elements")
        ends = (before[0], before[1]), (canvas[0], canvas[1]), (y[1], y[2])
        hooked: Scatter = node.hooks.window(cls(kernel, stride, *ends))
        return hooked

    def __call__(self, images: Array, weights: Array) -> Array:
        """Sums (N, out height, out width, outputs) of ``images`` (N, H, W, C).

        ``weights`` are (kh, kw, C, outputs).
        """
        n, height, width, _ = images.shape
        (sh, sw), (top, left), (rows, columns) = self.stride, self.before, self.out
        sums = np.zeros((n, *self.canvas, weights.shape[3]))
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                down = slice(i, i + (height - 1) * sh + 1, sh)
                across = slice(j, j + (width - 1) * sw + 1, sw)
                sums[:, down, across] += images @ weights[i, j]
        return sums[:, top : top + rows, left : left + columns]


def _symmetric(node: Node) -> Node:
    """The node without zero points of int16 activations, which TFLM ignores here."""
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
    """The weights in double precision."""
    check_weight_types(node, weights, int4=node.operator.name != "TRANSPOSE_CONV")
    value = node.constant(1)
    if value is None:
        raise node.unsupported("its weights are computed at run time, not constants of the model")
    return value.astype(np.float64)


def _output(node: Node, outputs: int, wide_biases: str) -> Output:
    if node.input(0).dtype == "float32":
        return real_output(node, outputs)
    multiplier = channel_multiplier(node, node.input(1), outputs)
    return integer_output(node, multiplier, outputs, wide_biases=wide_biases)
