"""Arithmetic operators: messages for unsupported types, shapes and scales."""

from __future__ import annotations

import pytest
from model_builder import ACTIVATIONS, T
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import assert_refused, pool, real, unary, wide
from one_operator_models import one_operator as _one

_INTS = T((2,), "int32")


def _two(op: str, x: T, y: T, z: T, **options: object) -> bytes:
    table = {"SQUARED_DIFFERENCE": "SquaredDifference", "FLOOR_DIV": "FloorDiv"}
    known = op in ("ADD", "SUB", "MUL", "DIV") or op in table
    told = (table.get(op, op.capitalize()), options) if known else None
    return _one(op, [x, y, z], [0, 1], told, (0, 1))


def _reduce(op: str, x: T, axes: T, y: T, **options: object) -> bytes:
    return _one(op, [x, axes, y], [0, 1], ("Reducer", options))


def _arg(x: T, axis: T, y: T) -> bytes:
    return _one("ARG_MAX", [x, axis, y], [0, 1], ("ArgMax", {}))


def _cumsum(x: T, axis: T, y: T) -> bytes:
    return _one("CUMSUM", [x, axis, y], [0, 1], ("Cumsum", {}))


def _softmax(x: T, y: T, beta: float = 1.0) -> bytes:
    return unary("SOFTMAX", x, y, "Softmax", {"Beta": beta})


_TANH = {"FusedActivationFunction": ACTIVATIONS["TANH"]}
REFUSED = {
    "ADD of two types": (_two("ADD", _a(2), real(2), _a(2)), "its inputs are int8 and float32"),
    "ADD of uint8": (
        _two("ADD", T((2,), "uint8"), T((2,), "uint8"), T((2,), "uint8")),
        "input type uint8 is not supported",
    ),
    "ADD to another type": (
        _two("ADD", _a(2), _a(2), real(2)),
        "its input is int8, its output float32",
    ),
    "ADD of shapes that do not broadcast": (
        _two("ADD", _a(2), _a(3), _a(3)),
        "its inputs [2] and [3] do not broadcast",
    ),
    "ADD to another shape": (
        _two("ADD", _a(2), _a(2), _a(3)),
        "computes the shape [2], but the model declares [3]",
    ),
    "ADD with an activation that TFLM has not": (
        _two("ADD", _a(2), _a(2), _a(2), **_TANH),
        "TFLM has no fused activation TANH",
    ),
    "SUB of int32 with an activation that TFLM has not": (
        _two("SUB", _INTS, _INTS, _INTS, **_TANH),
        "TFLM has no fused activation TANH",
    ),
    "ADD to a scale so small that nothing fits": (
        _two("ADD", _a(2), _a(2), _a(2, scale=1e-9)),
        "which must be between 0 and 1",
    ),
    "ADD without a scale": (_two("ADD", T((2,), "int8"), _a(2), _a(2)), "('t0') has no scale"),
    "MUL with an activation limit beyond all steps": (
        _two("MUL", _a(2), _a(2), _a(2, scale=1e-9), FusedActivationFunction=3),
        "its activation limit 6.0 is",
    ),
    **{
        f"MUL of int16 with a zero point in tensor {index}": (
            _two("MUL", *(wide(2, zero=int(index == each)) for each in range(3))),
            "int16 tensors must have the zero point 0",
        )
        for index in range(3)
    },
    **{
        f"SQUARED_DIFFERENCE of int16 with a zero point in tensor {index}": (
            _two("SQUARED_DIFFERENCE", *(wide(2, zero=int(index == each)) for each in range(3))),
            "int16 tensors must have the zero point 0",
        )
        for index in range(3)
    },
    "SQUARED_DIFFERENCE of two types": (
        _two("SQUARED_DIFFERENCE", _a(2), real(2), _a(2)),
        "its inputs are int8 and float32",
    ),
    **{
        f"{op} of int16 with a zero point {where}": (
            unary(op, wide(2, zero=zeros[0]), wide(2, zero=zeros[1])),
            "int16 tensors must have the zero point 0",
        )
        for op in ("RELU", "ABS")
        for where, zeros in (("before", (1, 0)), ("behind", (0, 1)))
    },
    "ABS to another shape": (unary("ABS", _a(2), _a(3)), "computes the shape [2]"),
    "RELU to another shape": (unary("RELU", _a(2), _a(3)), "computes the shape [2]"),
    "NEG to another shape": (unary("NEG", real(2), real(3)), "computes the shape [2]"),
    "LOGICAL_NOT to another shape": (
        unary("LOGICAL_NOT", T((2,), "bool"), T((3,), "bool")),
        "computes the shape [2]",
    ),
    "LOGICAL_AND of numbers": (_two("LOGICAL_AND", _a(2), _a(2), _a(2)), "not bool"),
    "LESS of int16": (
        _two("LESS", wide(2), wide(2), T((2,), "bool")),
        "type int16 is not supported",
    ),
    "LESS of bool": (
        _two("LESS", *[T((2,), "bool")] * 3),
        "type bool is not supported",
    ),
    "LESS of two types": (
        _two("LESS", _a(2), real(2), T((2,), "bool")),
        "its types are int8, float32 and bool",
    ),
    "LESS to a number": (_two("LESS", _a(2), _a(2), _a(2)), "its types are int8, int8 and int8"),
    "LESS of a scale of 1": (
        _two("LESS", _a(2, scale=1.0), _a(2), T((2,), "bool")),
        "its input 0 has the scale 1.0, which must be below 1",
    ),
    "LESS of a second scale above 1": (
        _two("LESS", _a(2), _a(2, scale=1.5), T((2,), "bool")),
        "its input 1 has the scale 1.5, which must be below 1",
    ),
    "FLOOR_DIV of five axes that broadcasts": (
        _two("FLOOR_DIV", real(1, 1, 1, 1, 2), real(2), real(1, 1, 1, 1, 2)),
        "broadcasting of more than four axes is not supported",
    ),
    "FLOOR_DIV of int32": (_two("FLOOR_DIV", _INTS, _INTS, _INTS), "type int32 is not supported"),
    "HARD_SWISH of scales too far apart": (
        unary("HARD_SWISH", _a(2, scale=1.0), _a(2, scale=0.001)),
        "its scales differ by 2^",
    ),
    "LOGISTIC of int8 of the smallest scale": (
        unary("LOGISTIC", _a(2, scale=1e-9), _a(2, scale=1 / 256, zero=-128)),
        "is outside the range of TFLM's fixed point",
    ),
    "TANH of int16 of another output scale": (
        unary("TANH", wide(2), _a(2, dtype="int16", scale=2**-14)),
        "its output must have the scale 2^-15, not 6.1",
    ),
    "LOGISTIC of int16 of a scale near 2^-15": (
        unary("LOGISTIC", wide(2), _a(2, dtype="int16", scale=2**-15 * 1.002)),
        "its output must have the scale 2^-15",
    ),
    "L2_NORMALIZATION of a scalar": (
        unary("L2_NORMALIZATION", real(), real(), "L2Norm", {}),
        "its input has the shape []",
    ),
    "L2_NORMALIZATION of five axes": (
        unary("L2_NORMALIZATION", real(1, 1, 1, 1, 2), real(1, 1, 1, 1, 2), "L2Norm", {}),
        "its input has the shape [1, 1, 1, 1, 2]",
    ),
    "L2_NORMALIZATION to another shape": (
        unary("L2_NORMALIZATION", real(2), real(3), "L2Norm", {}),
        "computes the shape [2]",
    ),
    "LOG_SOFTMAX of a scalar": (
        unary("LOG_SOFTMAX", real(), real(), "LogSoftmax", {}),
        "its input is a scalar",
    ),
    "LOG_SOFTMAX of another zero point": (
        unary("LOG_SOFTMAX", _a(2), _a(2, scale=1 / 16), "LogSoftmax", {}),
        "the scale 0.0625 and the zero point 0, not 1/16 and 127",
    ),
    "LOG_SOFTMAX of a scale that vanishes": (
        unary("LOG_SOFTMAX", _a(2, scale=1e-9), _a(2, scale=1 / 16, zero=127), "LogSoftmax", {}),
        "is too small",
    ),
    "SOFTMAX of a scalar": (_softmax(real(), real()), "its input is a scalar"),
    "SOFTMAX to another type": (_softmax(_a(2), real(2)), "int8 to float32 is not supported"),
    "SOFTMAX to another shape": (_softmax(_a(2), _a(3)), "computes the shape [2]"),
    "SOFTMAX of another zero point": (
        _softmax(_a(2), _a(2, scale=1 / 256, zero=-127)),
        "scale 0.00390625 or zero point -127 is not SOFTMAX's",
    ),
    "SOFTMAX of int16 with a zero point": (
        _softmax(wide(2, zero=1), _a(2, dtype="int16", scale=2**-15)),
        "is not SOFTMAX's",
    ),
    "SOFTMAX of int16 to a scale a thousandth and a half off": (
        _softmax(wide(2), _a(2, dtype="int16", scale=2**-15 * 1.0015)),
        "is not SOFTMAX's",
    ),
    "SOFTMAX of int8 to int16 of an int16's scale": (
        _softmax(_a(2), _a(2, dtype="int16", scale=2**-15, zero=-32768)),
        "is not SOFTMAX's",
    ),
    "SOFTMAX of a beta that vanishes": (
        _softmax(_a(2), _a(2, scale=1 / 256, zero=-128), 1e-9),
        "is too small",
    ),
    "PRELU with slopes of another type": (
        _two("PRELU", _a(2), real(2), _a(2)),
        "its slopes are float32 for int8",
    ),
    "PRELU of float32 with quantized slopes": (
        _two("PRELU", real(2), _a(2), real(2)),
        "its slopes are int8 for float32",
    ),
    "PRELU of float32 of five axes": (
        _two("PRELU", real(1, 1, 1, 1, 2), real(2), real(1, 1, 1, 1, 2)),
        "more than four axes are not supported",
    ),
    "ADD_N of one": (
        _one("ADD_N", [_a(2), _a(2)], [0], ("AddN", {})),
        "its inputs are fewer than two, or differ in shape or type",
    ),
    "ADD_N of two shapes": (
        _one("ADD_N", [_a(2), _a(1), _a(2)], [0, 1], ("AddN", {}), (0, 1)),
        "or differ in shape or type",
    ),
    "ADD_N of two types": (
        _one("ADD_N", [_a(2), real(2), _a(2)], [0, 1], ("AddN", {}), (0, 1)),
        "or differ in shape or type",
    ),
    "ADD_N of two zero points": (
        _one("ADD_N", [_a(2), _a(2, zero=1), _a(2)], [0, 1], ("AddN", {}), (0, 1)),
        "its inputs differ in scale or zero point",
    ),
    "ADD_N to another shape": (
        _one("ADD_N", [_a(2), _a(3)], [0, 0], ("AddN", {})),
        "computes the shape [2]",
    ),
    "CUMSUM of a scalar": (_cumsum(real(), _c([0]), real()), "its axis is int32 [1], its input []"),
    "CUMSUM along an axis of int64": (
        _cumsum(real(2), _c([0], "int64"), real(2)),
        "its axis is int64 [1], its input [2]",
    ),
    "CUMSUM along two axes": (
        _cumsum(real(2, 2), _c([0, 1]), real(2, 2)),
        "its axis is int32 [2], its input [2, 2]",
    ),
    "CUMSUM along an axis that is not there": (
        _cumsum(real(2), _c([1]), real(2)),
        "axis 1 is out of range for 1 axes",
    ),
    "CUMSUM to another shape": (_cumsum(real(2), _c([0]), real(3)), "computes the shape [2]"),
    "MEAN over an axis that is not there": (
        _reduce("MEAN", _a(2, 3), _c([2]), _a(2)),
        "axis 2 is out of range for 2 axes",
    ),
    "MEAN over an axis before the first": (
        _reduce("MEAN", _a(2, 3), _c([-3]), _a(2)),
        "axis -3 is out of range for 2 axes",
    ),
    "MEAN that keeps axes which the model drops": (
        _reduce("MEAN", _a(2, 3), _c([1]), _a(2), KeepDims=True),
        "computes the shape [2, 1], but the model declares [2]",
    ),
    "MEAN that drops axes which the model keeps": (
        _reduce("MEAN", _a(2, 3), _c([1]), _a(2, 1)),
        "computes the shape [2], but the model declares [2, 1]",
    ),
    "MEAN of nothing": (
        _reduce("MEAN", _a(2, 0), _c([1]), _a(2)),
        "an empty input is not supported",
    ),
    "MEAN over axes of int64": (
        _reduce("MEAN", _a(2, 3), _c([1], "int64"), _a(2)),
        "its input 1 has the type int64",
    ),
    "REDUCE_MAX of another zero point": (
        _reduce("REDUCE_MAX", _a(2), _c([0]), _a(zero=1)),
        "its input and output differ in scale or zero point",
    ),
    "REDUCE_ALL of numbers": (_reduce("REDUCE_ALL", _a(2), _c([0]), _a()), "type int8"),
    "ARG_MAX of int16": (
        _arg(wide(2), _c([0]), T((), "int32")),
        "int16 to int32 is not supported",
    ),
    "ARG_MAX to int64": (
        _arg(_a(2), _c([0]), T((), "int64")),
        "int8 to int64 is not supported",
    ),
    "ARG_MAX along two axes": (
        _arg(_a(2, 2), _c([0, 1]), T((), "int32")),
        "its axis has 2 elements",
    ),
    "ARG_MAX along an empty axis": (
        _arg(_a(0, 2), _c([0]), T((2,), "int32")),
        "its axis is empty",
    ),
    "ARG_MAX to another shape": (
        _arg(_a(3, 2), _c([0]), T((3,), "int32")),
        "computes the shape [2]",
    ),
    "MAX_POOL_2D of another zero point": (
        pool(_a(1, 2, 2, 1), _a(1, 2, 2, 1, zero=1), "MAX_POOL_2D"),
        "its input and output differ in scale or zero point",
    ),
    "AVERAGE_POOL_2D of a window wholly outside": (
        pool(_a(1, 1, 1, 1), _a(1, 1, 1, 1), FilterHeight=0),
        "kernel 0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_values_are_refused_with_a_reason(name: str) -> None:
    assert_refused(*REFUSED[name])
