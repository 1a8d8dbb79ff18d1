"""Arithmetic, activations, comparisons, element-wise operators equal the official interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from model_builder import ACTIVATIONS, Op, T, build
from operator_cases import Case, Draw, agree, broadcasting, cases, draws, single
from oracle import Oracles

from harness.base.errors import BadModel
from harness.model import Model
from harness.reference import Interpreter

FUSED = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def _two_inputs(
    draw: Draw, op: str, dtype: str, table: str, *, output: str = "", fused: bool = False
) -> Case:
    a_shape, b_shape, y_shape = broadcasting(draw)
    a, b = draw.tensor(a_shape, dtype), draw.tensor(b_shape, dtype)
    y = draw.tensor(y_shape, output or dtype)
    fields = {"FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)]} if fused else {}
    fixed = draw.flag()
    if fixed:
        b.data = draw.array(b_shape, dtype)
    fed = (0,) if fixed else (0, 1)
    return single(draw, op, [a, b, y], [0, 1], (table, fields), fed=fed)


@pytest.mark.litert_differs(
    "ADD-int32", reason="LiteRT applies the fused activation, TFLM does not"
)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@pytest.mark.parametrize("op", ["ADD", "SUB"])
@cases
@given(draw=draws())
def test_sums_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    a_shape, b_shape, y_shape = broadcasting(draw)
    a, b = draw.tensor(a_shape, dtype), draw.tensor(b_shape, dtype)
    y = draw.tensor(y_shape, dtype)
    if dtype in ("int8", "int16"):
        # TFLM needs an output multiplier below 1: up to the edge of that.
        spare = 20 if dtype == "int8" else 15
        y.scale = float(np.float32(2 * max(a.scale, b.scale) * draw.power(-spare + 0.01, 8)))
    fields = {"FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)]}
    if dtype == "int16":
        fields["PotScaleInt16"] = False
    agree(official, single(draw, op, [a, b, y], [0, 1], (op.title(), fields), fed=(0, 1)))


@pytest.mark.litert_differs("int16", reason="LiteRT saturates where TFLM wraps at 32 bits")
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@cases
@given(draw=draws())
def test_mul_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    a_shape, b_shape, y_shape = broadcasting(draw)
    a, b = draw.tensor(a_shape, dtype), draw.tensor(b_shape, dtype)
    y = draw.tensor(y_shape, dtype)
    if dtype in ("int8", "int16"):
        y.scale = float(np.float32(a.scale * b.scale / draw.power(-34, 1)))
    fields = {"FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)]}
    agree(official, single(draw, "MUL", [a, b, y], [0, 1], ("Mul", fields), fed=(0, 1)))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@pytest.mark.parametrize("op", ["MINIMUM", "MAXIMUM"])
@cases
@given(draw=draws())
def test_extremes_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    case = _two_inputs(draw, op, dtype, "MaximumMinimum")
    agree(official, case)


COMPARED = [
    (op, dtype)
    for op in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    for dtype in (
        "int8",
        "int32",
        "int64",
        "float32",
        *(("bool",) if "EQUAL" in (op, op[4:]) else ()),
    )
]


@pytest.mark.parametrize(("op", "dtype"), COMPARED)
@cases
@given(draw=draws())
def test_comparisons_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    a_shape, b_shape, y_shape = broadcasting(draw)
    a, b = draw.tensor(a_shape, dtype), draw.tensor(b_shape, dtype)
    if dtype == "int8":
        a.scale, b.scale = draw.power(-12, -0.01), draw.power(-12, -0.01)
        if draw.flag():
            b.scale, b.zero = a.scale, a.zero
    table = "".join(word.title() for word in op.split("_"))
    case = single(draw, op, [a, b, T(y_shape, "bool")], [0, 1], (table, {}), fed=(0, 1))
    if draw.flag() and a_shape == b_shape:  # otherwise few elements are equal
        case.inputs = [
            [x, np.where(np.arange(x.size).reshape(x.shape) % 2, x, y)] for x, y in case.inputs
        ]
    agree(official, case)


@pytest.mark.parametrize("op", ["LOGICAL_AND", "LOGICAL_OR"])
@cases
@given(draw=draws())
def test_logical_operators_equal(op: str, official: Oracles, draw: Draw) -> None:
    table = "".join(word.title() for word in op.split("_"))
    agree(official, _two_inputs(draw, op, "bool", table))


@cases
@given(draw=draws())
def test_logical_not_equals(official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    tensors = [T(shape, "bool"), T(shape, "bool")]
    agree(official, single(draw, "LOGICAL_NOT", tensors, [0], ("LogicalNot", {})))


def _one_input(
    draw: Draw, op: str, dtype: str, table: str | None, fields: dict | None = None, **y: object
) -> Case:
    shape = draw.shape(1, 4)
    x = draw.tensor(shape, dtype)
    tensors = [x, draw.tensor(shape, dtype, **y)]
    return single(draw, op, tensors, [0], (table, fields or {}) if table else None)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_relu_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    agree(official, _one_input(draw, "RELU", dtype, None))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_relu6_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    x = draw.tensor(shape, dtype)
    if dtype != "float32":
        x.scale = draw.power(-5 if dtype == "int8" else -12, 1)
    y = T(shape, dtype, x.scale, x.zero)
    agree(official, single(draw, "RELU6", [x, y], [0]))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_leaky_relu_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    alpha = draw.real(-1, 2)
    agree(official, _one_input(draw, "LEAKY_RELU", dtype, "LeakyRelu", {"Alpha": alpha}))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_hard_swish_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    case = _one_input(draw, "HARD_SWISH", dtype, "HardSwish")
    if dtype == "int8":
        shape = draw.shape(1, 4)
        x = draw.tensor(shape, dtype)
        ratio = draw.power(-7, 6)  # TFLM: input scale / 128 / output scale at most 1
        y = T(shape, dtype, float(np.float32(x.scale / ratio)), draw.zero(dtype))
        case = single(draw, "HARD_SWISH", [x, y], [0], ("HardSwish", {}))
    agree(official, case)


@pytest.mark.litert_differs(
    "LOGISTIC-int8", "TANH-int8", reason="LiteRT differs by 1 in some of 1,000 cases"
)
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("op", ["LOGISTIC", "TANH"])
@cases
@given(draw=draws())
def test_squashing_functions_equal(op: str, dtype: str, official: Oracles, draw: Draw) -> None:
    y = {
        "int8": {
            "scale": 1 / 256 if op == "LOGISTIC" else 1 / 128,
            "zero": -128 if op == "LOGISTIC" else 0,
        },
        "int16": {"scale": 2.0**-15, "zero": 0},
        "float32": {},
    }[dtype]
    case = _one_input(draw, op, dtype, None, **y)
    if dtype == "int16" and draw.flag():
        shape = draw.shape(1, 3)
        x = T(shape, dtype, 2.0 ** draw.int(-15, -8), 0)
        case = single(draw, op, [x, T(shape, dtype, **y)], [0])
    case.ulps = 2
    agree(official, case)


@pytest.mark.litert_differs("int16", reason="LiteRT differs by 1 in some of 1,000 cases")
@pytest.mark.parametrize("dtype", ["int8", "int8-int16", "int16", "float32"])
@cases
@given(draw=draws())
def test_softmax_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    before, _, after = dtype.partition("-")
    after = after or before
    shape = (*draw.shape(0, 2), draw.one(1, 2, draw.int(1, 40), 300))
    scale, zero = {
        "int8": (1 / 256, -128),
        "int16": (2.0**-15, 0) if before == "int16" else (2.0**-16, -32768),
        "float32": (None, 0),
    }[after]
    x = draw.tensor(shape, before)
    beta = draw.power(-3, 3)
    case = single(
        draw, "SOFTMAX", [x, T(shape, after, scale, zero)], [0], ("Softmax", {"Beta": beta})
    )
    if before == "float32":
        # exp, its argument and the sum are each off by single-precision rounding.
        case.bound = lambda reference, arrays: [
            reference.invoke(arrays)[0].astype(np.float64)
            * 2.0**-23
            * (shape[-1] + 8 + beta * np.ptp(arrays[0]))
        ]
        case.ulps = 2
    agree(official, case)


@pytest.mark.litert_differs("CEIL", "ROUND", reason="LiteRT refuses this variant")
@pytest.mark.parametrize(
    "op", ["NEG", "EXP", "LOG", "SQRT", "RSQRT", "SQUARE", "SIN", "COS", "FLOOR", "CEIL", "ROUND"]
)
@cases
@given(draw=draws())
def test_real_functions_equal(op: str, official: Oracles, draw: Draw) -> None:
    table = {"NEG": "Neg", "EXP": "Exp", "SQUARE": "Square", "COS": "Cos"}.get(op)
    case = _one_input(draw, op, "float32", table)
    if op in ("LOG", "SQRT", "RSQRT"):
        case.inputs = [[np.abs(x) + np.float32(1e-6) for x in arrays] for arrays in case.inputs]
    case.ulps = 2
    agree(official, case)


@pytest.mark.litert_differs("int16", reason="LiteRT interpolates a table")
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@cases
@given(draw=draws())
def test_quantized_rsqrt_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    case = _one_input(draw, "RSQRT", dtype, None)
    zero_point = Model.from_bytes(case.model).tensors[0].zero_point
    case.inputs = [[np.maximum(x, x.dtype.type(zero_point)) for x in row] for row in case.inputs]
    agree(official, case)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_rsqrt_of_a_value_below_zero_is_refused_when_it_is_computed(dtype: str) -> None:
    x, y = T((1, 2), dtype, 0.1, 0), T((1, 2), dtype, 0.1, 0)
    interpreter = Interpreter(Model.from_bytes(build([x, y], [Op("RSQRT", [0], [1])], [0], [1])))
    largest = np.iinfo(dtype).max
    assert interpreter.invoke([np.array([[0, 0]], dtype)])[0].tolist() == [[largest, largest]]
    with pytest.raises(BadModel, match="the root of a value below 0"):
        interpreter.invoke([np.array([[1, -1]], dtype)])


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_abs_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    agree(official, _one_input(draw, "ABS", dtype, "Abs"))


CONVERSIONS = [
    ("float32", "int8"), ("float32", "int16"), ("int8", "int8"), ("int8", "int16"),
    ("int8", "int32"), ("int16", "int8"), ("int16", "int16"), ("int16", "int32"),
    ("int32", "int8"), ("int32", "int16"), ("uint8", "int8"), ("int8", "uint8"),
]  # fmt: skip


@pytest.mark.litert_differs("int8-int32", reason="LiteRT refuses this variant")
@pytest.mark.parametrize(("before", "after"), CONVERSIONS)
@cases
@given(draw=draws())
def test_quantize_equals(before: str, after: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    quantized = {"scale": draw.scale(), "zero": draw.int(0, 255)}
    x = (
        T(shape, before, **quantized)
        if before in ("uint8", "int32")
        else draw.tensor(shape, before)
    )
    if before == "int32":
        x.zero = 0
    y = draw.tensor(shape, after)
    if y.scale is None:
        y.scale, y.zero = draw.scale(), draw.int(0, 255) if after == "uint8" else 0
    if before == "uint8" or after == "uint8":
        y.scale = x.scale if draw.flag() else y.scale
    case = single(draw, "QUANTIZE", [x, y], [0], ("Quantize", {}))
    if before == "int32":
        case.inputs = [[array >> draw.int(8, 24) for array in arrays] for arrays in case.inputs]
    agree(official, case)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
@cases
@given(draw=draws())
def test_dequantize_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    shape = draw.shape(1, 4)
    x = (
        T(shape, "uint8", draw.scale(), draw.int(0, 255))
        if dtype == "uint8"
        else draw.tensor(shape, dtype)
    )
    agree(official, single(draw, "DEQUANTIZE", [x, T(shape, "float32")], [0], ("Dequantize", {})))


SPECIAL = np.array([[3e38, -3e38, np.inf, -np.inf, np.nan, 0.0, 1.0, -1e-45]], np.float32)


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"])
@pytest.mark.parametrize("activation", [0, 1])
def test_overflow_infinity_and_nan_equal(op: str, activation: int, official: Oracles) -> None:
    real = T(SPECIAL.shape, "float32")
    table, fields = op.title(), {"FusedActivationFunction": activation}
    if op in ("MINIMUM", "MAXIMUM"):
        table, fields = "MaximumMinimum", {}
    model = build([real] * 3, [Op(op, [0, 1], [2], (table, fields))], [0, 1], [2])
    others = [SPECIAL, -SPECIAL, SPECIAL[:, ::-1].copy()]
    agree(official, Case(model, [[SPECIAL, other] for other in others]))


@pytest.mark.litert_differs("ROUND", reason="LiteRT refuses this variant")
@pytest.mark.parametrize(
    "op", ["RELU", "RELU6", "LOGISTIC", "TANH", "EXP", "ABS", "FLOOR", "ROUND", "HARD_SWISH"]
)
def test_special_values_equal(op: str, official: Oracles) -> None:
    real = T(SPECIAL.shape, "float32")
    agree(official, Case(build([real] * 2, [Op(op, [0], [1])], [0], [1]), [[SPECIAL]], ulps=2))


def test_max_pooling_ignores_nan(official: Oracles) -> None:
    fields = {"Padding": 1, "StrideW": 1, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 1}
    tensors = [T((1, 1, 8, 1), "float32"), T((1, 1, 7, 1), "float32")]
    model = build(tensors, [Op("MAX_POOL_2D", [0], [1], ("Pool2D", fields))], [0], [1])
    agree(official, Case(model, [[SPECIAL.reshape(1, 1, 8, 1)]]))


def test_atan_is_a_custom_operator_of_the_default_kernels() -> None:
    from harness.model import Model
    from harness.reference import Interpreter

    tensors = [T((1, 5), "float32"), T((1, 5), "float32")]
    model = build(tensors, [Op("CUSTOM", [0], [1], custom="Atan")], [0], [1])
    x = np.array([[-1e9, -1, 0, 1, np.inf]], np.float32)
    (y,) = Interpreter.from_model(Model.from_bytes(model)).invoke([x])
    np.testing.assert_array_equal(y, np.arctan(x.astype(np.float64)).astype(np.float32))
