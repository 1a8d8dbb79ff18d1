"""Every int8 kernel of the standalone runtime equals the official interpreter, to the bit.

Each test draws 200 models of one operator (shapes, quantization, options) and runs some inferences
of each. Undefined behaviour ends the host build's run (sanitizers).
"""

from __future__ import annotations

from itertools import starmap

import numpy as np
import pytest

CASES = 200
INFERENCES = 3

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def random():
    return np.random.default_rng(20240611)


def scale_of(random, low=-7.0, high=1.0):
    return float(np.float32(2.0 ** random.uniform(low, high)))


def zero_of(random):
    return int(random.integers(-128, 128))


def int8(random, shape):
    # The ends of the range come often enough to matter.
    values = random.integers(-128, 128, size=shape)
    ends = random.random(size=shape) < 0.1
    return np.where(ends, random.choice([-128, 127, 0], size=shape), values).astype(np.int8)


def dims(random, count, high=7):
    return tuple(int(n) for n in random.integers(1, high, size=count))


def inputs_of(random, *shapes):
    return tuple(int8(random, (INFERENCES, *shape)) for shape in shapes)


def out_extent(size, window, stride, dilation, same):
    reach = (window - 1) * dilation + 1
    return -(-size // stride) if same else -(-(size - reach + 1) // stride)


def quantized(spec, random, shape, scale=None, zero=None):
    return spec(
        shape,
        scale=scale_of(random) if scale is None else scale,
        zero_point=zero_of(random) if zero is None else zero,
    )


class Window:
    """A random window over a random input, with a non-empty output."""

    def __init__(self, random, *, dilate=True):
        self.same = bool(random.integers(2))
        self.dilation = tuple(int(n) for n in random.integers(1, 3 if dilate else 2, size=2))
        self.stride = tuple(int(n) for n in random.integers(1, 4, size=2))
        self.size = tuple(int(n) for n in random.integers(1, 5, size=2))
        pairs = list(zip(self.size, self.dilation, strict=True))
        self.input = tuple((k - 1) * d + int(random.integers(1, 7)) for k, d in pairs)
        both = zip(self.input, self.size, self.stride, self.dilation, strict=True)
        self.output = tuple(starmap(self._extent, both))

    def _extent(self, size, window, stride, dilation):
        return out_extent(size, window, stride, dilation, self.same)

    @property
    def fields(self):
        return {
            "padding": 0 if self.same else 1,
            "strideH": self.stride[0],
            "strideW": self.stride[1],
            "dilationHFactor": self.dilation[0],
            "dilationWFactor": self.dilation[1],
        }


def convolution(random, spec, case, *, depthwise):
    window = Window(random)
    batch, depth = int(random.integers(1, 3)), int(random.integers(1, 6))
    if depthwise:
        channels = depth * int(random.integers(1, 4))
        filter_shape = (1, *window.size, channels)
    else:
        groups = int(random.integers(1, 3))
        channels = groups * int(random.integers(1, 5))
        filter_shape = (channels, *window.size, depth)
        depth *= groups
    axis = 3 if depthwise else 0
    scales = [scale_of(random, -8, -2) for _ in range(channels)]
    source = quantized(spec, random, (batch, *window.input, depth), scale_of(random, -6, 0))
    filters = spec(filter_shape, scale=scales, data=int8(random, filter_shape), channel_axis=axis)
    bias_data = random.integers(-5000, 5000, size=channels)
    bias_scales = [float(np.float32(source.scale * s)) for s in scales]
    bias = spec((channels,), dtype="int32", scale=bias_scales, data=bias_data)
    output = quantized(spec, random, (batch, *window.output, channels), scale_of(random, -4, 3))
    fields = {**window.fields, "fusedActivationFunction": int(random.choice([0, 1, 3]))}
    if depthwise:
        fields["depthMultiplier"] = channels // depth
    operator = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    options = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    values = inputs_of(random, source.shape)
    return case(operator, (source, filters, bias), output, options, fields, values)


@pytest.mark.parametrize("depthwise", [False, True], ids=["conv", "depthwise_conv"])
def test_convolution_equals_the_official_interpreter(random, compare, case_types, depthwise):
    spec, case = case_types
    compare(convolution(random, spec, case, depthwise=depthwise) for _ in range(CASES))


def fully_connected(random, spec, case, *, per_channel):
    batch, depth, units = dims(random, 3, 20)
    source = quantized(spec, random, (batch, depth))
    count = units if per_channel else 1
    scales = [scale_of(random, -8, -2) for _ in range(count)]
    weights = spec((units, depth), scale=scales, data=int8(random, (units, depth)))
    bias_scales = [float(np.float32(source.scale * s)) for s in scales]
    data = random.integers(-8000, 8000, size=units)
    bias = spec((units,), dtype="int32", scale=bias_scales, data=data)
    output = quantized(spec, random, (batch, units), scale_of(random, -4, 3))
    fields = {"fusedActivationFunction": int(random.choice([0, 1, 3]))}
    values = inputs_of(random, source.shape)
    inputs = (source, weights, bias)
    return case("FULLY_CONNECTED", inputs, output, "FullyConnectedOptions", fields, values)


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
def test_fully_connected_equals_the_official_interpreter(random, compare, case_types, per_channel):
    spec, case = case_types
    compare(fully_connected(random, spec, case, per_channel=per_channel) for _ in range(CASES))


def pool(random, spec, case, operator):
    window = Window(random, dilate=False)
    batch, depth = dims(random, 2, 5)
    source = quantized(spec, random, (batch, *window.input, depth))
    shape = (batch, *window.output, depth)
    output = quantized(spec, random, shape, source.scale, source.zero_point)
    fields = {
        "padding": 0 if window.same else 1,
        "strideH": window.stride[0],
        "strideW": window.stride[1],
        "filterHeight": window.size[0],
        "filterWidth": window.size[1],
        "fusedActivationFunction": int(random.choice([0, 1, 3])),
    }
    return case(
        operator, (source,), output, "Pool2DOptions", fields, inputs_of(random, source.shape)
    )


@pytest.mark.parametrize("operator", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pooling_equals_the_official_interpreter(random, compare, case_types, operator):
    spec, case = case_types
    compare(pool(random, spec, case, operator) for _ in range(CASES))


def unary(random, spec, case, operator, options="", fields=None, **fixed):
    shape = dims(random, int(random.integers(1, 5)), 12)
    source = quantized(spec, random, shape, scale_of(random, -8, 0))
    scale, zero = fixed.get("scale"), fixed.get("zero_point")
    output = quantized(spec, random, shape, scale, zero)
    values = inputs_of(random, shape)
    return case(operator, (source,), output, options, fields or {}, values)


def test_softmax_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types
    compare(
        unary(
            random, spec, case, "SOFTMAX", "SoftmaxOptions",
            {"beta": float(random.choice([1.0, 0.5, 2.0]))}, scale=1 / 256, zero_point=-128,
        )
        for _ in range(CASES)
    )  # fmt: skip


def test_logistic_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types
    fixed = {"scale": 1 / 256, "zero_point": -128}
    compare(unary(random, spec, case, "LOGISTIC", **fixed) for _ in range(CASES))


def test_relu_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types
    compare(unary(random, spec, case, "RELU") for _ in range(CASES))


def test_requantization_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types
    compare(unary(random, spec, case, "QUANTIZE", "QuantizeOptions") for _ in range(CASES))


def test_relu6_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 12)
        source = quantized(spec, random, shape)
        return case("RELU6", (source,), source, values=inputs_of(random, shape))

    compare(one() for _ in range(CASES))


def test_relu6_between_two_ranges_clamps_and_does_not_rescale(random, compare, case_types):
    """As tflite-micro does, other than TensorFlow Lite: six is six in the input's quantization."""
    spec, case = case_types
    compare(unary(random, spec, case, "RELU6") for _ in range(CASES))


def broadcastable(random):
    shape = dims(random, int(random.integers(1, 5)), 6)
    kind = int(random.integers(4))
    if kind == 0:
        return shape, tuple(n if random.integers(2) else 1 for n in shape)
    if kind == 1:
        return tuple(n if random.integers(2) else 1 for n in shape), shape
    return shape, shape


@pytest.mark.parametrize("operator", ["ADD", "MUL"])
def test_element_wise_equals_the_official_interpreter(random, compare, case_types, operator):
    spec, case = case_types
    options = {"ADD": "AddOptions", "MUL": "MulOptions"}[operator]

    def one():
        shapes = broadcastable(random)
        sources = tuple(quantized(spec, random, shape) for shape in shapes)
        output = quantized(spec, random, np.broadcast_shapes(*shapes), scale_of(random, -4, 3))
        fields = {"fusedActivationFunction": int(random.choice([0, 1, 3]))}
        return case(operator, sources, output, options, fields, inputs_of(random, *shapes))

    compare(one() for _ in range(CASES))


def test_mean_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 9)
        count = int(random.integers(1, len(shape) + 1))
        axes = random.permutation(len(shape))[:count]
        keep = bool(random.integers(2))
        kept = [(n, 1) for n in range(len(shape))]
        result = tuple(1 if n in axes else shape[n] for n, _ in kept if keep or n not in axes)
        written = [int(axis) - (len(shape) if random.integers(2) else 0) for axis in axes]
        axis = spec((count,), dtype="int32", data=np.array(written))
        source = quantized(spec, random, shape)
        output = quantized(spec, random, result, scale_of(random, -7, 2))
        values = inputs_of(random, shape)
        return case("MEAN", (source, axis), output, "ReducerOptions", {"keepDims": keep}, values)

    compare(one() for _ in range(CASES))


def test_pad_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 6)
        amounts = random.integers(0, 4, size=(len(shape), 2))
        paddings = spec(amounts.shape, dtype="int32", data=amounts)
        source = quantized(spec, random, shape)
        result = tuple(int(n + sum(pair)) for n, pair in zip(shape, amounts, strict=True))
        output = quantized(spec, random, result, source.scale, source.zero_point)
        return case("PAD", (source, paddings), output, "PadOptions", {}, inputs_of(random, shape))

    compare(one() for _ in range(CASES))


def test_concatenation_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 6)
        axis = int(random.integers(len(shape)))
        count = int(random.integers(2, 5))
        first = quantized(spec, random, shape)
        shapes = [
            (*shape[:axis], int(random.integers(1, 6)), *shape[axis + 1 :]) for _ in range(count)
        ]
        sources = tuple(quantized(spec, random, s, first.scale, first.zero_point) for s in shapes)
        whole = (*shape[:axis], sum(s[axis] for s in shapes), *shape[axis + 1 :])
        output = quantized(spec, random, whole, first.scale, first.zero_point)
        fields = {"axis": axis - (len(shape) if random.integers(2) else 0)}
        values = inputs_of(random, *shapes)
        return case("CONCATENATION", sources, output, "ConcatenationOptions", fields, values)

    compare(one() for _ in range(CASES))


def test_reshape_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 6)
        result = tuple(int(n) for n in random.permutation(shape))
        source = quantized(spec, random, shape)
        output = quantized(spec, random, result, source.scale, source.zero_point)
        wanted = spec((len(result),), dtype="int32", data=np.array(result))
        fields = {"newShape": list(result)}
        values = inputs_of(random, shape)
        return case("RESHAPE", (source, wanted), output, "ReshapeOptions", fields, values)

    compare(one() for _ in range(CASES))


def floats(random, shape, span):
    return random.uniform(-span, span, size=(INFERENCES, *shape)).astype(np.float32)


def test_quantize_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 12)
        output = quantized(spec, random, shape)
        values = floats(random, shape, 200 * output.scale)
        # Halves between two steps are where rounding shows.
        halves = random.random(size=values.shape) < 0.3
        values = np.where(halves, (np.rint(values / output.scale) + 0.5) * output.scale, values)
        source = spec(shape, dtype="float32")
        given = (values.astype(np.float32),)
        return case("QUANTIZE", (source,), output, "QuantizeOptions", {}, given)

    compare(one() for _ in range(CASES))


def test_dequantize_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        shape = dims(random, int(random.integers(1, 5)), 12)
        source = quantized(spec, random, shape)
        output = spec(shape, dtype="float32")
        given = inputs_of(random, shape)
        return case("DEQUANTIZE", (source,), output, "DequantizeOptions", {}, given)

    compare(one() for _ in range(CASES))


@pytest.mark.parametrize("operator", ["ADD", "MUL"])
def test_float_element_wise_equals_the_official_interpreter(random, compare, case_types, operator):
    spec, case = case_types
    options = {"ADD": "AddOptions", "MUL": "MulOptions"}[operator]

    def one():
        shapes = broadcastable(random)
        sources = tuple(spec(shape, dtype="float32") for shape in shapes)
        output = spec(np.broadcast_shapes(*shapes), dtype="float32")
        fields = {"fusedActivationFunction": int(random.choice([0, 1, 3]))}
        values = tuple(floats(random, shape, 8) for shape in shapes)
        return case(operator, sources, output, options, fields, values)

    compare(one() for _ in range(CASES))


def test_float_fully_connected_equals_the_official_interpreter(random, compare, case_types):
    spec, case = case_types

    def one():
        batch, depth, units = dims(random, 3, 20)
        weights = spec(
            (units, depth), dtype="float32", data=random.uniform(-1, 1, size=(units, depth))
        )
        bias = spec((units,), dtype="float32", data=random.uniform(-4, 4, size=units))
        source = spec((batch, depth), dtype="float32")
        output = spec((batch, units), dtype="float32")
        fields = {"fusedActivationFunction": int(random.choice([0, 1, 3]))}
        values = (floats(random, source.shape, 4),)
        inputs = (source, weights, bias)
        return case("FULLY_CONNECTED", inputs, output, "FullyConnectedOptions", fields, values)

    compare(one() for _ in range(CASES))
