"""FULLY_CONNECTED, the convolutions and BATCH_MATMUL equal the official interpreter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from model_builder import ACTIVATIONS, PADDINGS, Op, T, build
from operator_cases import Case, Draw, agree, cases, draws, single, sum_bound
from oracle import Oracle, Oracles

from harness.model import Model
from harness.reference import Interpreter

# activations x weights
KINDS = ["int8-int8", "int8-int4", "int16-int8", "float32-float32"]
FUSED = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
BIAS = {"int8": "int32", "int16": "int64", "float32": "float32"}


def _quantize(
    draw: Draw, x: T, w: T, y: T, *, channels: int, axis: int, per_channel: bool, low: float = -34
) -> None:
    """Scales whose multipliers lie between 2^low and about 2^3."""
    x.scale = draw.scale()
    multiplier = draw.power(low, draw.one(3, 0, -6))
    y.scale = draw.scale()
    rng = draw.generator()
    spread = 2.0 ** rng.uniform(-6, 0, channels if per_channel else 1)
    w.scale = np.maximum(multiplier * y.scale / x.scale * spread, 1e-37).astype(np.float32)
    w.axis = axis
    w.zero = 0


def _bias(draw: Draw, x: T, w: T, channels: int, *, wide: str | None = None) -> T:
    dtype = wide or BIAS[x.dtype]
    if dtype == "float32":
        return T((channels,), dtype, data=draw.array((channels,), dtype))
    largest = draw.one(1 << 8, 1 << 16, 1 << 24)
    scale = np.float32(x.scale) * np.asarray(w.scale, np.float32)
    return T((channels,), dtype, scale, 0, draw.array((channels,), dtype, largest=largest))


def _magnitudes(tensors: list[T], op: Op) -> bytes:
    """The same model with |w| and |bias| and no activation."""
    plain = [
        replace(t, data=np.abs(t.data)) if t.data is not None and t.dtype == "float32" else t
        for t in tensors
    ]
    table, fields = op.options or ("", {})
    fields = {**fields}
    if "FusedActivationFunction" in fields:
        fields["FusedActivationFunction"] = 0
    return build(plain, [replace(op, options=(table, fields))], [0], [len(tensors) - 1])


def _finish(
    draw: Draw, op: str, tensors: list[T], inputs: list[int], options: tuple, terms: int
) -> Case:
    case = single(draw, op, tensors, inputs, options)
    if tensors[0].dtype == "float32":
        model = _magnitudes(tensors, Op(op, inputs, [len(tensors) - 1], options))
        case.bound, case.ulps = sum_bound(model, terms), 2
    return case


@pytest.mark.litert_differs("int16-int8", reason="LiteRT reads an int32 bias in another way")
@pytest.mark.parametrize("kind", KINDS)
@cases
@given(draw=draws())
def test_fully_connected_equals(kind: str, official: Oracles, draw: Draw) -> None:
    dtype, weights = kind.split("-")
    batch, depth, outputs = draw.int(1, 4), draw.int(1, 40), draw.int(1, 9)
    x, y = draw.tensor((batch, depth), dtype), draw.tensor((batch, outputs), dtype)
    w = T((outputs, depth), weights, data=draw.array((outputs, depth), weights))
    if dtype != "float32":
        per_channel = weights == "int8" and draw.flag()
        _quantize(draw, x, w, y, channels=outputs, axis=0, per_channel=per_channel)
    tensors, inputs = [x, w], [0, 1, -1]
    if draw.flag():
        # A per-tensor bias must have the scale of the products, as TFLM checks.
        tensors.append(
            _bias(draw, x, w, outputs, wide=draw.one(None, "int32") if dtype == "int16" else None)
        )
        inputs = [0, 1, 2]
    tensors.append(y)
    options = ("FullyConnected", {"FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)]})
    agree(official, _finish(draw, "FULLY_CONNECTED", tensors, inputs, options, depth))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_fully_connected_of_computed_weights_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    """And of a computed bias: a matrix for each inference."""
    batch, depth, outputs = draw.int(1, 4), draw.int(1, 12), draw.int(1, 5)
    x, y = draw.tensor((batch, depth), dtype), draw.tensor((batch, outputs), dtype)
    w = T((outputs, depth), "float32" if dtype == "float32" else "int8")
    bias = T((outputs,), BIAS[dtype])
    if dtype != "float32":
        _quantize(draw, x, w, y, channels=outputs, axis=0, per_channel=False)
        w.scale, w.zero = float(w.scale[0]), draw.zero("int8") if dtype == "int8" else 0
        bias.scale = float(np.float32(x.scale) * np.float32(w.scale))
    options = ("FullyConnected", {"FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)]})
    tensors, fed = [x, w, bias, y], (0, 1, 2)
    case = single(draw, "FULLY_CONNECTED", tensors, [0, 1, 2], options, fed=fed)
    for arrays in case.inputs:
        if dtype != "float32":
            arrays[2] //= 1 << 8 * arrays[2].itemsize - 16
    if dtype == "float32":
        plain = Op("FULLY_CONNECTED", [0, 1, 2], [3], ("FullyConnected", {}))
        case.bound, case.ulps = sum_bound(build(tensors, [plain], fed, [3]), depth), 2
    agree([micro], case)


def _window_options(draw: Draw, *, dilated: bool) -> tuple[dict, tuple[int, int]]:
    stride = (draw.int(1, 3), draw.int(1, 3))
    dilation = (draw.int(1, 3), draw.int(1, 3)) if dilated else (1, 1)
    options = {
        "Padding": PADDINGS[draw.one("SAME", "VALID")],
        "StrideH": stride[0],
        "StrideW": stride[1],
        "FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)],
    }
    if dilated:
        options |= {"DilationHFactor": dilation[0], "DilationWFactor": dilation[1]}
    return options, dilation


def _out(size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    if padding == PADDINGS["SAME"]:
        return -(-size // stride)
    return (size + stride - ((kernel - 1) * dilation + 1)) // stride


def _spatial(
    draw: Draw, options: dict, kernel: tuple[int, int], dilation: tuple[int, int]
) -> tuple:
    """Input and output (height, width) for which the kernel fits."""
    sizes = [
        draw.int((k - 1) * d + 1, (k - 1) * d + 7) for k, d in zip(kernel, dilation, strict=True)
    ]
    if options["Padding"] == PADDINGS["SAME"]:
        sizes = [draw.int(1, 9) for _ in kernel]
    strides = (options["StrideH"], options["StrideW"])
    outs = [
        _out(n, k, s, d, options["Padding"])
        for n, k, s, d in zip(sizes, kernel, strides, dilation, strict=True)
    ]
    return sizes, outs


@pytest.mark.litert_differs("int16-int8", reason="LiteRT reads an int32 bias in another way")
@pytest.mark.parametrize("kind", KINDS)
@cases
@given(draw=draws())
def test_conv_2d_equals(kind: str, official: Oracles, draw: Draw) -> None:
    dtype, weights = kind.split("-")
    options, dilation = _window_options(draw, dilated=True)
    kernel = (draw.int(1, 4), draw.int(1, 4))
    (h, wd), (oh, ow) = _spatial(draw, options, kernel, dilation)
    groups = draw.one(1, 1, 1, 2, 3)
    depth, outputs, batch = draw.int(1, 6), draw.int(1, 4) * groups, draw.int(1, 2)
    x, y = (
        draw.tensor((batch, h, wd, depth * groups), dtype),
        draw.tensor((batch, oh, ow, outputs), dtype),
    )
    w = T((outputs, *kernel, depth), weights, data=draw.array((outputs, *kernel, depth), weights))
    if dtype != "float32":
        _quantize(draw, x, w, y, channels=outputs, axis=0, per_channel=draw.flag())
    tensors, inputs = [x, w], [0, 1]
    if draw.flag():
        tensors.append(
            _bias(draw, x, w, outputs, wide=draw.one(None, "int32") if dtype == "int16" else None)
        )
        inputs = [0, 1, 2]
    tensors.append(y)
    terms = kernel[0] * kernel[1] * depth
    agree(official, _finish(draw, "CONV_2D", tensors, inputs, ("Conv2D", options), terms))


@pytest.mark.parametrize("kind", KINDS)
@cases
@given(draw=draws())
def test_depthwise_conv_2d_equals(kind: str, official: Oracles, draw: Draw) -> None:
    dtype, weights = kind.split("-")
    options, dilation = _window_options(draw, dilated=True)
    kernel = (draw.int(1, 4), draw.int(1, 4))
    (h, wd), (oh, ow) = _spatial(draw, options, kernel, dilation)
    depth, multiplier, batch = draw.int(1, 5), draw.int(1, 3), draw.int(1, 2)
    outputs = depth * multiplier
    options["DepthMultiplier"] = multiplier
    x, y = draw.tensor((batch, h, wd, depth), dtype), draw.tensor((batch, oh, ow, outputs), dtype)
    w = T((1, *kernel, outputs), weights, data=draw.array((1, *kernel, outputs), weights))
    if dtype != "float32":
        _quantize(draw, x, w, y, channels=outputs, axis=3, per_channel=draw.flag())
    tensors = [x, w, _bias(draw, x, w, outputs), y]
    terms = kernel[0] * kernel[1]
    case = _finish(
        draw, "DEPTHWISE_CONV_2D", tensors, [0, 1, 2], ("DepthwiseConv2D", options), terms
    )
    agree(official, case)


@pytest.mark.parametrize("kind", ["int8-int8", "int16-int8", "float32-float32"])
@cases
@given(draw=draws())
def test_transpose_conv_equals(kind: str, official: Oracles, draw: Draw) -> None:
    dtype, weights = kind.split("-")
    options, _ = _window_options(draw, dilated=False)
    kernel, batch = (draw.int(1, 4), draw.int(1, 4)), draw.int(1, 2)
    depth, outputs = draw.int(1, 5), draw.int(1, 5)
    (oh, ow), (h, wd) = _spatial(draw, options, kernel, (1, 1))
    x, y = draw.tensor((batch, h, wd, depth), dtype), draw.tensor((batch, oh, ow, outputs), dtype)
    w = T((outputs, *kernel, depth), weights, data=draw.array((outputs, *kernel, depth), weights))
    if dtype != "float32":
        _quantize(draw, x, w, y, channels=outputs, axis=0, per_channel=draw.flag())
    size = T((4,), "int32", data=np.array(y.shape, np.int32))
    tensors, inputs = [x, w, size], [2, 1, 0]
    if draw.flag():
        tensors.append(_bias(draw, x, w, outputs))
        inputs = [2, 1, 0, 3]
    tensors.append(y)
    terms = kernel[0] * kernel[1] * depth
    agree(
        official,
        _finish(draw, "TRANSPOSE_CONV", tensors, inputs, ("TransposeConv", options), terms),
    )


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_batch_matmul_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    rows, depth, columns = draw.int(1, 6), draw.int(1, 12), draw.int(1, 6)
    lead = draw.shape(0, 2, 3)
    adj_x, adj_y = draw.flag(), draw.flag()
    left = (depth, rows) if adj_x else (rows, depth)
    right = (columns, depth) if adj_y else (depth, columns)
    thin = tuple(draw.one(n, 1) for n in lead)
    a, b = draw.tensor((*lead, *left), dtype), draw.tensor((*thin, *right), dtype)
    y = draw.tensor((*lead, rows, columns), dtype)
    if dtype != "float32":
        y.scale = float(np.float32(a.scale * b.scale / draw.power(-20, 2)))
    fixed = draw.flag()
    if fixed:
        b.data = draw.array(b.shape, dtype)
    options = ("BatchMatMul", {"AdjX": adj_x, "AdjY": adj_y})
    case = single(draw, "BATCH_MATMUL", [a, b, y], [0, 1], options, fed=(0,) if fixed else (0, 1))
    if dtype == "float32":
        b_abs = replace(b, data=np.abs(b.data)) if fixed else b
        model = build(
            [a, b_abs, y], [Op("BATCH_MATMUL", [0, 1], [2], options)], [0] if fixed else [0, 1], [2]
        )
        case.bound, case.ulps = sum_bound(model, depth), 2
    agree(official, case)


def test_weights_may_have_axes_before_their_outputs(micro: Oracle) -> None:
    weights = T((1, 3, 2), "int8", 0.1, 0, [[[1, 2], [3, -4], [5, 6]]])
    tensors = [T((1, 2), "int8", 0.5, 1), weights, T((1, 3), "int8", 0.25, -3)]
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    model, x = build(tensors, [operator], [0], [2]), np.array([[11, -9]], np.int8)
    # (11 - 1) * w and (-9 - 1) * w: -10, 70 and -10 steps of 0.05, 0.2 steps of the output each.
    expected = [[-5, 11, -5]]
    assert micro.run(model, [[x]])[0][0][0].tolist() == expected
    assert Interpreter(Model.from_bytes(model)).invoke([x])[0].tolist() == expected


@pytest.mark.parametrize("units", [5, 150])
def test_weights_with_a_zero_point_equal_in_a_small_matrix_and_a_large_one(
    units: int, micro: Oracle
) -> None:
    """Alone and in a batch: large matrices are multiplied in single precision there."""
    rng = np.random.default_rng(units)
    weights = rng.integers(-128, 128, (units, 60))
    tensors = [T((1, 60), "int8", 0.05, 5), T(weights.shape, "int8", 0.01, -7, weights)]
    tensors.append(T((1, units), "int8", 0.5, -3))
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    model = build(tensors, [operator], [0], [2])
    x = rng.integers(-128, 128, (5, 1, 60)).astype(np.int8)
    expected = np.stack([row[0] for row in micro.run(model, [[each] for each in x])[0]])
    interpreter = Interpreter(Model.from_bytes(model))
    np.testing.assert_array_equal(interpreter.invoke_batch([x])[0], expected)
    np.testing.assert_array_equal(interpreter.invoke([x[0]])[0], expected[0])


def test_real_outputs_of_three_axes_have_their_columns_last(micro: Oracle) -> None:
    weights = T((3, 2), "float32", data=[[1, 2], [3, -4], [5, 6]])
    tensors = [T((1, 4, 2), "float32"), weights, T((1, 4, 3), "float32")]
    told = ("FullyConnected", {"KeepNumDims": True})
    model = build(tensors, [Op("FULLY_CONNECTED", [0, 1, -1], [2], told)], [0], [2])
    x = np.arange(8, dtype=np.float32).reshape(1, 4, 2)
    (expected,) = micro.run(model, [[x]])[0][0]
    interpreter = Interpreter(Model.from_bytes(model))
    np.testing.assert_array_equal(interpreter.invoke([x])[0], expected)
    np.testing.assert_array_equal(interpreter.invoke_batch([x[None]])[0][0], expected)


@pytest.mark.parametrize("multiplier", [1, 2])
def test_a_depthwise_window_of_the_whole_image_equals(multiplier: int, micro: Oracle) -> None:
    """In a batch, where it is one sum for each channel."""
    rng, outputs = np.random.default_rng(multiplier), 2 * multiplier
    weights = rng.integers(-127, 128, (1, 2, 3, outputs))
    tensors = [
        T((1, 2, 3, 2), "int8", 0.05, 5),
        T(weights.shape, "int8", [0.01] * outputs, [0] * outputs, weights, axis=3),
        T((outputs,), "int32", [0.0005] * outputs, [0] * outputs, rng.integers(-99, 99, outputs)),
        T((1, 1, 1, outputs), "int8", 0.1, -3),
    ]
    told = {"Padding": 1, "StrideH": 1, "StrideW": 1, "DepthMultiplier": multiplier}
    operator = Op("DEPTHWISE_CONV_2D", [0, 1, 2], [3], ("DepthwiseConv2D", told))
    model, images = build(tensors, [operator], [0], [3]), rng.integers(-128, 128, (9, 1, 2, 3, 2))
    images = images.astype(np.int8)
    expected, _ = micro.run(model, [[image] for image in images])
    (together,) = Interpreter(Model.from_bytes(model)).invoke_batch([images])
    np.testing.assert_array_equal(together, np.stack([row[0] for row in expected]))
