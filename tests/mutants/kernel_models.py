"""Models of every operator of the standalone runtime, each with inputs and outputs of its own.

The samples have one convolution with a stride, no broadcast, no RELU, one batch. Here each operator
comes in the shapes, types and options that its kernel tells apart: axes of different sizes, strides
and dilations, several batches, groups, negative axes, scales whose ratio is a power of two (so that
results lie halfway between two steps) or rounds up to one. All outputs are outputs of the model, so
that nothing behind an operator hides its mistakes. Many of them fill whole units of the arena's
alignment, so that an element too many lands in another output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from model_builder import Graph, Op, T, build_graphs, constant

Options = Mapping[str, Any]

#: The largest float32 below 1 and the smallest above it whose product rounds up to 1 in 31 bits.
_BELOW, _ABOVE = 1 - 2**-16, 1 + 2**-16
_SAME, _VALID = 0, 1
_NONE, _RELU, _RELU_N1_TO_1, _RELU6 = 0, 1, 2, 3


class _Branches:
    """Collects operators that share nothing."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(34)
        self._tensors: list[T] = []
        self._operators: list[Op] = []
        self._inputs: list[int] = []
        self._outputs: list[int] = []

    def add(self, name: str, inputs: Sequence[T | int], output: T, *options: Any) -> int:
        """One operator, and the number of its output.

        What is not constant among ``inputs`` becomes an input of the model; a number is an earlier
        output, which then is none of the model's.
        """
        numbers = [each if isinstance(each, int) else self._tensor(each) for each in inputs]
        self._outputs = [n for n in self._outputs if n not in numbers]
        self._outputs.append(len(self._tensors))
        self._tensors.append(output)
        self._operators.append(Op(name, numbers, self._outputs[-1:], options or None))
        return self._outputs[-1]

    def _tensor(self, tensor: T) -> int:
        self._tensors.append(tensor)
        if tensor.data is None:
            self._inputs.append(len(self._tensors) - 1)
        return len(self._tensors) - 1

    def data(self, *shape: int, low: int = -127, high: int = 128) -> np.ndarray:
        return self._rng.integers(low, high, shape)

    def real(self, *shape: int) -> T:
        """A float32 constant."""
        return T(shape, "float32", data=self._rng.uniform(-1, 1, shape))

    def scales(self, count: int) -> list[float]:
        """Scales of output channels, all different."""
        return [float(np.float32(2.0**-n * 0.03)) for n in self._rng.uniform(0, 3, count)]

    def build(self) -> bytes:
        return build_graphs([Graph(self._tensors, self._operators, self._inputs, self._outputs)])


def _int8(*shape: int, scale: float = 0.05, zero: int = 0) -> T:
    return T(shape, "int8", scale, zero)


def _real(*shape: int) -> T:
    return T(shape, "float32")


def _activations(b: _Branches) -> None:
    b.add("RELU", [_int8(4, 16, zero=-20)], _int8(4, 16, scale=0.03, zero=-90))
    b.add("RELU", [_int8(64, scale=0.5, zero=3)], _int8(64, scale=1.0, zero=-7))  # ties
    b.add("RELU", [_real(32)], _real(32))
    b.add("RELU6", [_int8(48, zero=-20)], _int8(48, zero=-20))
    b.add("RELU6", [_real(32)], _real(32))


def _element_wise(b: _Branches) -> None:
    for name in ("ADD", "MUL"):
        table = name.title()
        for left, right, activation in (
            ((2, 3, 4), (2, 3, 4), _NONE),
            ((2, 3, 4), (3, 1), _RELU),
            ((3, 1, 2), (3, 4, 1), _RELU6),
            ((2, 1, 3, 1, 2), (5, 1, 2, 1), _RELU_N1_TO_1),
        ):
            shape = np.broadcast_shapes(left, right)
            fused = {"FusedActivationFunction": activation}
            real = [_real(*left), _real(*right)]
            b.add(name, real, _real(*shape), table, fused)
            for scale, other in ((0.06, 0.02), (0.01, 0.07)):
                sides = [_int8(*left, scale=scale, zero=7), _int8(*right, scale=other, zero=-30)]
                b.add(name, sides, _int8(*shape, zero=11), table, fused)
    # Inputs of very different steps, halves between two steps, and a multiplier that rounds up to a
    # power of two.
    sides = [_int8(32, scale=0.4), _int8(32, scale=0.01)]
    b.add("ADD", sides, _int8(32, scale=0.4), "Add", {})
    sides = [_int8(64, scale=0.5), _int8(64, scale=0.5)]
    b.add("ADD", sides, _int8(64, scale=1.0), "Add", {})
    b.add("MUL", sides, _int8(64, scale=0.5), "Mul", {})
    sides = [_int8(32, scale=_BELOW), _int8(32, scale=_ABOVE)]
    b.add("MUL", sides, _int8(32, scale=64.0), "Mul", {})


def _window(stride: tuple[int, int], padding: int, **more: int) -> dict[str, int]:
    return {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1], **more}


def _convolutions(b: _Branches) -> None:
    for shape, taps, stride, dilation, padding, groups, activation in (
        ((2, 6, 5, 3), (2, 3), (1, 2), (1, 1), _SAME, 1, _NONE),
        ((1, 7, 6, 2), (3, 2), (2, 1), (2, 1), _SAME, 1, _RELU),
        ((1, 6, 7, 2), (2, 3), (1, 1), (1, 2), _VALID, 1, _RELU6),
        ((1, 4, 5, 4), (2, 2), (1, 1), (1, 1), _VALID, 2, _RELU_N1_TO_1),
        ((1, 4, 3, 1), (3, 2), (1, 1), (1, 1), _SAME, 1, _NONE),
        ((1, 3, 4, 3), (1, 1), (1, 1), (1, 1), _VALID, 1, _NONE),
    ):
        batch, height, width, depth = shape
        channels = 2 * groups
        out = (batch, *_extents((height, width), taps, stride, dilation, padding), channels)
        filters = (channels, *taps, depth // groups)
        weights = T(filters, "int8", b.scales(channels), [0] * channels, b.data(*filters))
        bias = T((channels,), "int32", data=b.data(channels, low=-900, high=900))
        options = _window(
            stride, padding, DilationHFactor=dilation[0], DilationWFactor=dilation[1],
            FusedActivationFunction=activation,
        )  # fmt: skip
        image = _int8(*shape, scale=0.1, zero=-9)
        b.add("CONV_2D", [image, weights, bias], _int8(*out, scale=0.4, zero=5), "Conv2D", options)
        copies = 2 if depth < 3 else 1
        out = (*out[:3], depth * copies)
        filters = (1, *taps, depth * copies)
        scales = b.scales(filters[3]) if depth > 1 else [0.02]
        weights = T(filters, "int8", scales, [0] * len(scales), b.data(*filters), axis=3)
        # A bias may be left out, and one scale may hold for all channels.
        terms = [image, weights, T((filters[3],), "int32", data=b.data(filters[3]))]
        output = _int8(*out, scale=0.3, zero=-4)
        options = {**options, "DepthMultiplier": copies}
        b.add("DEPTHWISE_CONV_2D", terms[: 2 + depth % 2], output, "DepthwiseConv2D", options)


def _extents(
    size: Sequence[int],
    taps: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: int,
) -> list[int]:
    found = []
    for extent, count, step, apart in zip(size, taps, stride, dilation, strict=True):
        reach = 0 if padding == _SAME else (count - 1) * apart
        found.append(-(-(extent - reach) // step))
    return found


def _pools(b: _Branches) -> None:
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for shape, taps, stride, padding, activation in (
            ((2, 5, 6, 3), (2, 3), (1, 2), _SAME, _NONE),
            ((1, 6, 5, 2), (3, 2), (2, 1), _VALID, _RELU6),
            ((1, 4, 7, 1), (3, 3), (2, 3), _SAME, _RELU),
            ((1, 5, 7, 2), (1, 4), (1, 1), _SAME, _NONE),
        ):
            inner = _extents(shape[1:3], taps, stride, (1, 1), padding)
            options = _window(
                stride, padding, FilterHeight=taps[0], FilterWidth=taps[1],
                FusedActivationFunction=activation,
            )  # fmt: skip
            image, out = _int8(*shape, zero=-60), _int8(shape[0], *inner, shape[3], zero=-60)
            b.add(name, [image], out, "Pool2D", options)


def _products(b: _Branches) -> None:
    for batch, depth, units, scales, zero, activation in (
        (3, 7, 5, 1, 0, _NONE), (2, 9, 4, 1, 13, _RELU), (1, 6, 3, 3, 0, _RELU6),
    ):  # fmt: skip
        scale = b.scales(scales)
        weights = T((units, depth), "int8", scale, [zero] * scales, b.data(units, depth))
        bias = T((units,), "int32", data=b.data(units, low=-900, high=900))
        given = [_int8(batch, depth, zero=21), weights, bias][: 3 if batch != 2 else 2]
        fused = {"FusedActivationFunction": activation}
        output = _int8(batch, units, scale=0.2, zero=-3)
        b.add("FULLY_CONNECTED", given, output, "FullyConnected", fused)
        given = [_real(batch, depth), b.real(units, depth), b.real(units)][: 3 if batch != 2 else 2]
        b.add("FULLY_CONNECTED", given, _real(batch, units), "FullyConnected", fused)


def _means(b: _Branches) -> None:
    for shape, axes, keep in (
        ((2, 3, 4, 5), [1, 2], False), ((3, 4, 5), [-1], True), ((4, 6), [0], False),
        ((2, 40), [0, 1], True), ((2, 2, 3, 2, 3), [3, 1], False),
    ):  # fmt: skip
        which = {axis % len(shape) for axis in axes}
        places = [(n, 1 if n in which else size) for n, size in enumerate(shape)]
        out = [size for n, size in places if keep or n not in which]
        image, output = _int8(*shape, zero=14), _int8(*out, scale=0.02, zero=-8)
        b.add("MEAN", [image, constant(axes)], output, "Reducer", {"KeepDims": keep})
    b.add("MEAN", [_int8(16, 2), constant([1])], _int8(16), "Reducer", {"KeepDims": False})  # ties


def _quantizers(b: _Branches) -> None:
    b.add("QUANTIZE", [_real(64)], _int8(64, scale=0.0625, zero=5), "Quantize", {})
    for scale, zero, other in ((0.04, 9, 0.06), (0.5, 0, 1.0), (0.5, 3, 0.125)):
        into = _int8(80, scale=other, zero=-11)
        b.add("QUANTIZE", [_int8(80, scale=scale, zero=zero)], into, "Quantize", {})
    b.add("DEQUANTIZE", [_int8(32, scale=0.7, zero=-5)], _real(32), "Dequantize", {})


def _functions(b: _Branches) -> None:
    for scale, zero in ((0.05, 0), (0.11, -30), (0.004, 100)):
        into = _int8(2, 64, scale=1 / 256, zero=-128)
        b.add("LOGISTIC", [_int8(2, 64, scale=scale, zero=zero)], into)
    for shape, scale, beta in (((8, 12), 0.03, 1.0), ((6, 16), 0.1, 1.0), ((20, 3), 0.02, 0.5)):
        given, into = _int8(*shape, scale=scale), _int8(*shape, scale=1 / 256, zero=-128)
        b.add("SOFTMAX", [given], into, "Softmax", {"Beta": beta})


def _movers(b: _Branches) -> None:
    for make in (_int8, _real):
        for amounts in ([[1, 0], [2, 1], [0, 2], [1, 1], [2, 0]], [[0, 1], [2, 0]]):
            shape = (2, 3, 2, 3, 4)[5 - len(amounts) :]
            out = [n + sum(pair) for n, pair in zip(shape, amounts, strict=True)]
            b.add("PAD", [make(*shape), constant(amounts)], make(*out), "Pad", {})
        for axis in (0, 1, 2, -1):
            shapes = [[2, 3, 4] for _ in range(3)]
            for number, shape in enumerate(shapes):
                shape[axis] += number
            out = [2, 3, 4]
            out[axis] = sum(shape[axis] for shape in shapes)
            parts = [make(*shape) for shape in shapes]
            b.add("CONCATENATION", parts, make(*out), "Concatenation", {"Axis": axis})
        b.add("RESHAPE", [make(2, 6), constant([3, 4])], make(3, 4), "Reshape", {})


def _slices(b: _Branches) -> None:
    for begin, end, step, out, masks in (
        ([0, 1, 0], [2, 3, 5], [1, 1, 1], [2, 2, 5], {}),
        ([1, -1, 4], [2, 0, 0], [1, -1, -2], [1, 3, 2], {}),
        ([0, 0, -4], [0, 0, -1], [1, 2, 1], [2, 2, 3], {"BeginMask": 3, "EndMask": 3}),
        ([1, 0, 1], [0, 4, 0], [1, 3, 2], [2, 2], {"ShrinkAxisMask": 1, "EndMask": 4}),
        ([0, -5, 9], [9, 9, -9], [1, 1, -1], [2, 4, 5], {}),
    ):
        lists = [constant(each) for each in (begin, end, step)]
        for make in (_int8, _real):
            b.add("STRIDED_SLICE", [make(2, 4, 5), *lists], make(*out), "StridedSlice", masks)
    begin, end, step = constant([3]), constant([3]), constant([1])
    none = b.add("STRIDED_SLICE", [_int8(5), begin, end, step], _int8(0), "StridedSlice", {})
    b.add("CONCATENATION", [none, _int8(4)], _int8(4), "Concatenation", {"Axis": 0})


#: What runs the code of a source file; where it is missing, all.
_OF_FILE = {
    "activations.cc": (_activations,),
    "add.cc": (_element_wise,),
    "concatenation.cc": (_movers,),
    "conv.cc": (_convolutions,),
    "convolution.cc": (_convolutions, _pools),
    "depthwise_conv.cc": (_convolutions,),
    "dequantize.cc": (_quantizers,),
    "elementwise.cc": (_element_wise,),
    "fully_connected.cc": (_products,),
    "logistic.cc": (_functions,),
    "mul.cc": (_element_wise,),
    "pad.cc": (_movers,),
    "pooling.cc": (_pools,),
    "quantize.cc": (_quantizers,),
    "reduce.cc": (_means,),
    "softmax.cc": (_functions,),
    "strided_slice.cc": (_slices,),
}


def kernel_model(file: str) -> bytes:
    """The model whose operators run the code of one of the runtime's files."""
    branches = _Branches()
    every = dict.fromkeys(add for part in _OF_FILE.values() for add in part)
    for add in _OF_FILE.get(file, every):
        add(branches)
    return branches.build()
