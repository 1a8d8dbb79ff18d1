"""Operators that compute: types, shapes and scales that no kernel has are refused in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from model_builder import ACTIVATIONS, Op, T, build
from odd_models import activation as _a
from odd_models import assert_refused, random_inputs
from odd_models import one_operator as _one
from odd_models import weights as _w
from seeds_more import constant as _c

from harness.errors import HilError
from harness.model import Model
from harness.reference import Interpreter


def _f(*shape: int) -> T:
    return T(shape, "float32")


def _h(*shape: int, zero: int = 0) -> T:
    return _a(*shape, dtype="int16", zero=zero)


def _two(op: str, x: T, y: T, z: T, **options: object) -> bytes:
    table = {"SQUARED_DIFFERENCE": "SquaredDifference", "FLOOR_DIV": "FloorDiv"}
    known = op in ("ADD", "SUB", "MUL", "DIV") or op in table
    told = (table.get(op, op.capitalize()), options) if known else None
    return _one(op, [x, y, z], [0, 1], told, (0, 1))


def _unary(op: str, x: T, y: T, *options: object) -> bytes:
    return _one(op, [x, y], [0], options or None)  # type: ignore[arg-type]


def _reduce(op: str, x: T, axes: T, y: T, **options: object) -> bytes:
    return _one(op, [x, axes, y], [0, 1], ("Reducer", options))


def _arg(x: T, axis: T, y: T) -> bytes:
    return _one("ARG_MAX", [x, axis, y], [0, 1], ("ArgMax", {}))


def _cumsum(x: T, axis: T, y: T) -> bytes:
    return _one("CUMSUM", [x, axis, y], [0, 1], ("Cumsum", {}))


def _softmax(x: T, y: T, beta: float = 1.0) -> bytes:
    return _unary("SOFTMAX", x, y, "Softmax", {"Beta": beta})


def _dense(x: T, w: T, y: T, *bias: T) -> bytes:
    tensors = [x, w, *bias, y]
    return _one("FULLY_CONNECTED", tensors, range(len(tensors) - 1), ("FullyConnected", {}))


def _conv(x: T, w: T, y: T, *bias: T, **options: int) -> bytes:
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1, **options}
    tensors = [x, w, *bias, y]
    return _one("CONV_2D", tensors, range(len(tensors) - 1), ("Conv2D", told))


def _pool(x: T, y: T, op: str = "AVERAGE_POOL_2D", **options: int) -> bytes:
    told = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1, "Padding": 1}
    return _unary(op, x, y, "Pool2D", {**told, **options})


_TANH = {"FusedActivationFunction": ACTIVATIONS["TANH"]}
_INTS = T((2,), "int32")
_BIAS = T((2,), "int32", 0.0005, 0, [1, 2])
REFUSED = {
    "ADD of two types": (_two("ADD", _a(2), _f(2), _a(2)), "its inputs are int8 and float32"),
    "ADD of uint8": (
        _two("ADD", T((2,), "uint8"), T((2,), "uint8"), T((2,), "uint8")),
        "input type uint8 is not supported",
    ),
    "ADD to another type": (
        _two("ADD", _a(2), _a(2), _f(2)),
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
        "fused activation TANH is not supported",
    ),
    "SUB of int32 with an activation that TFLM has not": (
        _two("SUB", _INTS, _INTS, _INTS, **_TANH),
        "fused activation TANH is not supported",
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
            _two("MUL", *(_h(2, zero=int(index == each)) for each in range(3))),
            "int16 tensors must have the zero point 0",
        )
        for index in range(3)
    },
    **{
        f"SQUARED_DIFFERENCE of int16 with a zero point in tensor {index}": (
            _two("SQUARED_DIFFERENCE", *(_h(2, zero=int(index == each)) for each in range(3))),
            "int16 tensors must have the zero point 0",
        )
        for index in range(3)
    },
    "SQUARED_DIFFERENCE of two types": (
        _two("SQUARED_DIFFERENCE", _a(2), _f(2), _a(2)),
        "its inputs are int8 and float32",
    ),
    **{
        f"{op} of int16 with a zero point {where}": (
            _unary(op, _h(2, zero=zeros[0]), _h(2, zero=zeros[1])),
            "int16 tensors must have the zero point 0",
        )
        for op in ("RELU", "ABS")
        for where, zeros in (("before", (1, 0)), ("behind", (0, 1)))
    },
    "ABS to another shape": (_unary("ABS", _a(2), _a(3)), "computes the shape [2]"),
    "RELU to another shape": (_unary("RELU", _a(2), _a(3)), "computes the shape [2]"),
    "NEG to another shape": (_unary("NEG", _f(2), _f(3)), "computes the shape [2]"),
    "LOGICAL_NOT to another shape": (
        _unary("LOGICAL_NOT", T((2,), "bool"), T((3,), "bool")),
        "computes the shape [2]",
    ),
    "LOGICAL_AND of numbers": (_two("LOGICAL_AND", _a(2), _a(2), _a(2)), "type int8"),
    "LESS of int16": (_two("LESS", _h(2), _h(2), T((2,), "bool")), "type int16 is not supported"),
    "LESS of bool": (
        _two("LESS", *[T((2,), "bool")] * 3),
        "type bool is not supported",
    ),
    "LESS of two types": (
        _two("LESS", _a(2), _f(2), T((2,), "bool")),
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
        _two("FLOOR_DIV", _f(1, 1, 1, 1, 2), _f(2), _f(1, 1, 1, 1, 2)),
        "broadcasting of more than four axes is not supported",
    ),
    "FLOOR_DIV of int32": (_two("FLOOR_DIV", _INTS, _INTS, _INTS), "type int32 is not supported"),
    "HARD_SWISH of scales too far apart": (
        _unary("HARD_SWISH", _a(2, scale=1.0), _a(2, scale=0.001)),
        "its scales differ by 2^",
    ),
    "LOGISTIC of int8 of the smallest scale": (
        _unary("LOGISTIC", _a(2, scale=1e-9), _a(2, scale=1 / 256, zero=-128)),
        "is outside what TFLM's fixed point defines",
    ),
    "TANH of int16 of another output scale": (
        _unary("TANH", _h(2), _a(2, dtype="int16", scale=2**-14)),
        "its output must have the scale 2^-15, not 6.1",
    ),
    "LOGISTIC of int16 of a scale near 2^-15": (
        _unary("LOGISTIC", _h(2), _a(2, dtype="int16", scale=2**-15 * 1.002)),
        "its output must have the scale 2^-15",
    ),
    "L2_NORMALIZATION of a scalar": (
        _unary("L2_NORMALIZATION", _f(), _f(), "L2Norm", {}),
        "its input has the shape []",
    ),
    "L2_NORMALIZATION of five axes": (
        _unary("L2_NORMALIZATION", _f(1, 1, 1, 1, 2), _f(1, 1, 1, 1, 2), "L2Norm", {}),
        "its input has the shape [1, 1, 1, 1, 2]",
    ),
    "L2_NORMALIZATION to another shape": (
        _unary("L2_NORMALIZATION", _f(2), _f(3), "L2Norm", {}),
        "computes the shape [2]",
    ),
    "LOG_SOFTMAX of a scalar": (
        _unary("LOG_SOFTMAX", _f(), _f(), "LogSoftmax", {}),
        "its input is a scalar",
    ),
    "LOG_SOFTMAX of another zero point": (
        _unary("LOG_SOFTMAX", _a(2), _a(2, scale=1 / 16), "LogSoftmax", {}),
        "the scale 0.0625 and the zero point 0, not 1/16 and 127",
    ),
    "LOG_SOFTMAX of a scale that vanishes": (
        _unary("LOG_SOFTMAX", _a(2, scale=1e-9), _a(2, scale=1 / 16, zero=127), "LogSoftmax", {}),
        "is too small",
    ),
    "SOFTMAX of a scalar": (_softmax(_f(), _f()), "its input is a scalar"),
    "SOFTMAX to another type": (_softmax(_a(2), _f(2)), "int8 to float32 is not supported"),
    "SOFTMAX to another shape": (_softmax(_a(2), _a(3)), "computes the shape [2]"),
    "SOFTMAX of another zero point": (
        _softmax(_a(2), _a(2, scale=1 / 256, zero=-127)),
        "scale 0.00390625 or zero point -127 is not SOFTMAX's",
    ),
    "SOFTMAX of int16 with a zero point": (
        _softmax(_h(2, zero=1), _a(2, dtype="int16", scale=2**-15)),
        "is not SOFTMAX's",
    ),
    "SOFTMAX of int16 to a scale a thousandth and a half off": (
        _softmax(_h(2), _a(2, dtype="int16", scale=2**-15 * 1.0015)),
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
        _two("PRELU", _a(2), _f(2), _a(2)),
        "its slopes are float32 for int8",
    ),
    "PRELU of float32 with quantized slopes": (
        _two("PRELU", _f(2), _a(2), _f(2)),
        "its slopes are int8 for float32",
    ),
    "PRELU of float32 of five axes": (
        _two("PRELU", _f(1, 1, 1, 1, 2), _f(2), _f(1, 1, 1, 1, 2)),
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
        _one("ADD_N", [_a(2), _f(2), _a(2)], [0, 1], ("AddN", {}), (0, 1)),
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
    "CUMSUM of a scalar": (_cumsum(_f(), _c([0]), _f()), "its axis is int32 [1] of []"),
    "CUMSUM along an axis of int64": (
        _cumsum(_f(2), _c([0], "int64"), _f(2)),
        "its axis is int64 [1] of [2]",
    ),
    "CUMSUM along two axes": (
        _cumsum(_f(2, 2), _c([0, 1]), _f(2, 2)),
        "its axis is int32 [2] of [2, 2]",
    ),
    "CUMSUM along an axis that is not there": (
        _cumsum(_f(2), _c([1]), _f(2)),
        "axis 1 of 1 axes",
    ),
    "CUMSUM to another shape": (_cumsum(_f(2), _c([0]), _f(3)), "computes the shape [2]"),
    "MEAN over an axis that is not there": (
        _reduce("MEAN", _a(2, 3), _c([2]), _a(2)),
        "axis 2 of 2 axes",
    ),
    "MEAN over an axis before the first": (
        _reduce("MEAN", _a(2, 3), _c([-3]), _a(2)),
        "axis -3 of 2 axes",
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
        _arg(_h(2), _c([0]), T((), "int32")),
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
        _pool(_a(1, 2, 2, 1), _a(1, 2, 2, 1, zero=1), "MAX_POOL_2D"),
        "its input and output differ in scale or zero point",
    ),
    "AVERAGE_POOL_2D of a window wholly outside": (
        _pool(_a(1, 1, 1, 1), _a(1, 1, 1, 1), FilterHeight=0),
        "kernel 0",
    ),
    "AVERAGE_POOL_2D of a padding that is none": (
        _pool(_a(1, 2, 2, 1), _a(1, 2, 2, 1), Padding=2),
        "its padding is",
    ),
    "AVERAGE_POOL_2D of three axes": (
        _pool(_a(2, 2, 1), _a(2, 2, 1)),
        "its input has the shape [2, 2, 1], not four axes",
    ),
    "AVERAGE_POOL_2D of an empty image": (
        _pool(_a(1, 2, 2, 0), _a(1, 2, 2, 0)),
        "its input [1, 2, 2, 0] is empty",
    ),
    "AVERAGE_POOL_2D of a kernel that does not fit": (
        _pool(_a(1, 2, 2, 1), _a(1, 0, 2, 1), FilterHeight=3),
        "a kernel of 3 does not fit an input of 2",
    ),
    "AVERAGE_POOL_2D of a huge kernel": (
        _pool(_a(1, 2, 2, 1), _a(1, 2, 2, 1), Padding=0, FilterHeight=257, FilterWidth=256),
        "a kernel of 257 x 256",
    ),
    "AVERAGE_POOL_2D to another shape": (
        _pool(_a(1, 2, 2, 1), _a(1, 2, 1, 1)),
        "computes the shape [1, 2, 2, 1]",
    ),
    "CONV_2D of a dilation of 0": (
        _conv(_a(1, 2, 2, 1), _w(1, 1, 1, 1), _a(1, 2, 2, 1), DilationHFactor=0),
        "size 2, kernel 1, stride 1, dilation 0",
    ),
    "CONV_2D of a dilated kernel that does not fit": (
        _conv(_a(1, 4, 4, 1), _w(1, 3, 1, 1), _a(1, 0, 4, 1), DilationHFactor=2),
        "a kernel of 5 does not fit an input of 4",
    ),
    "CONV_2D that pads beyond any memory": (
        _conv(
            _a(1, 1, 1, 1),
            _w(1, 3, 3, 1),
            _a(1, 1, 1, 1),
            Padding=0,
            DilationHFactor=3000,
            DilationWFactor=3000,
        ),
        "its padded input is too large for any microcontroller",
    ),
    "CONV_2D of int16 weights": (
        _conv(_a(1, 1, 1, 1), _c([[[[1]]]], "int16"), _a(1, 1, 1, 1)),
        "int8 with int16 weights is not supported",
    ),
    "CONV_2D of int16 with int4 weights": (
        _conv(_h(1, 1, 1, 1), T((1, 1, 1, 1), "int4", 0.1, 0, [[[[1]]]]), _h(1, 1, 1, 1)),
        "int16 with int4 weights is not supported",
    ),
    "CONV_2D of computed weights": (
        _one(
            "CONV_2D",
            [_a(1, 1, 1, 1), _a(1, 1, 1, 1), _a(1, 1, 1, 1)],
            [0, 1],
            ("Conv2D", {"StrideH": 1, "StrideW": 1}),
            (0, 1),
        ),
        "its weights are computed at run time, not constants of the model",
    ),
    "CONV_2D whose weights have scales for other channels": (
        _conv(_a(1, 1, 1, 1), _w(3, 1, 1, 1, scales=2), _a(1, 1, 1, 3)),
        "2 scales for 3 channels",
    ),
    "CONV_2D of a bias of int16": (
        _conv(_a(1, 1, 1, 1), _w(2, 1, 1, 1), _a(1, 1, 1, 2), _c([1, 2], "int16")),
        "int8 with an int16 bias is not supported",
    ),
    "CONV_2D of int16 and a bias of int16": (
        _conv(
            _a(1, 1, 1, 1, dtype="int16"),
            _w(2, 1, 1, 1),
            _a(1, 1, 1, 2, dtype="int16"),
            _c([1, 2], "int16"),
        ),
        "int16 with an int16 bias is not supported",
    ),
    "CONV_2D of a bias for fewer channels": (
        _conv(_a(1, 1, 1, 1), _w(3, 1, 1, 1), _a(1, 1, 1, 3), _BIAS),
        "its bias has 2 elements for 3 channels",
    ),
    "CONV_2D of a multiplier beyond all scaling": (
        _conv(_a(1, 1, 1, 1, scale=1e12), _w(1, 1, 1, 1), _a(1, 1, 1, 1)),
        "is beyond what TFLM's scaling defines",
    ),
    "CONV_2D of int16 of a multiplier beyond the scaling of 64 bits": (
        _conv(
            _a(1, 1, 1, 1, dtype="int16", scale=0.5 * 256),
            _w(1, 1, 1, 1),
            _a(1, 1, 1, 1, dtype="int16", scale=0.5 * 0.01),
        ),
        "a multiplier of 2^9 is beyond what TFLM's scaling defines",
    ),
    "FULLY_CONNECTED of weights that are a vector": (
        _dense(_a(1, 2), _w(2), _a(1, 1)),
        "its weights have the shape [2]",
    ),
    "FULLY_CONNECTED to a scalar": (
        _dense(_a(1, 2), _w(1, 2), _a()),
        "its weights have the shape [1, 2]",
    ),
    "FULLY_CONNECTED of weights of no depth": (
        _one(
            "FULLY_CONNECTED",
            [_a(1, 0), _a(2, 0), _a(1, 2)],
            [0, 1],
            ("FullyConnected", {}),
            (0, 1),
        ),
        "its weights have the shape [2, 0]",
    ),
    "FULLY_CONNECTED of another depth": (
        _dense(_a(1, 3), _w(2, 2), _a(1, 2)),
        "input [1, 3], weights [2, 2] and output [1, 2] do not fit",
    ),
    "FULLY_CONNECTED to more outputs than weights": (
        _dense(_a(1, 2), _w(2, 2), _a(1, 3)),
        "input [1, 2], weights [2, 2] and output [1, 3] do not fit",
    ),
    "FULLY_CONNECTED whose weights have no scale": (
        _dense(_a(1, 2), _c([[1, 2]], "int8"), _a(1, 1)),
        "its weights (tensor 1) have no scale",
    ),
    "FULLY_CONNECTED of int4 weights with a scale a channel": (
        _dense(_a(1, 2), T((2, 2), "int4", [0.1, 0.2], [0, 0], [[1, 2], [3, 4]]), _a(1, 2)),
        "int4 weights with a scale for each channel are not supported",
    ),
    "FULLY_CONNECTED of a bias of another scale": (
        _dense(_a(1, 2), _w(2, 2), _a(1, 2), T((2,), "int32", 0.01, 0, [1, 2])),
        "its bias has the scale",
    ),
    "BATCH_MATMUL to another shape": (
        _one("BATCH_MATMUL", [_a(2, 3), _a(3, 2), _a(2, 3)], [0, 1], ("BatchMatMul", {}), (0, 1)),
        "computes the shape [2, 2]",
    ),
    "QUANTIZE of int64": (
        _unary("QUANTIZE", T((2,), "int64"), _a(2)),
        "int64 to int8 is not supported",
    ),
    "QUANTIZE to float32": (_unary("QUANTIZE", _a(2), _f(2)), "int8 to float32 is not supported"),
    "QUANTIZE to another shape": (_unary("QUANTIZE", _f(2), _a(3)), "computes the shape [2]"),
    "QUANTIZE to no scale": (_unary("QUANTIZE", _f(2), T((2,), "int8")), "('t1') has no scale"),
    "DEQUANTIZE of int32": (
        _unary("DEQUANTIZE", _INTS, _f(2)),
        "int32 to float32 is not supported",
    ),
    "DEQUANTIZE to int8": (_unary("DEQUANTIZE", _a(2), _a(2)), "int8 to int8 is not supported"),
    "DEQUANTIZE to another shape": (_unary("DEQUANTIZE", _a(2), _f(3)), "computes the shape [2]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_kernel_computes_is_refused_in_its_own_words(name: str) -> None:
    assert_refused(*REFUSED[name])


def _lstm(change: Callable[[list[T], list[int]], None], **options: object) -> bytes:
    """Three units over four values, int8, two steps."""
    tensors = [
        _a(1, 2, 4),
        *(_w(3, 4) for _ in range(4)),
        *(_w(3, 3) for _ in range(4)),
        *(T((3,), "int32", 0.0005, 0, [1, 2, 3]) for _ in range(4)),
        T((1, 3), "int8", 0.01, 0, variable=True),
        T((1, 3), "int16", 2.0**-11, 0, variable=True),
        T((1, 2, 3), "int8", 0.01, 0),
    ]
    inputs = [0, *range(1, 9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    change(tensors, inputs)
    fields = {"FusedActivationFunction": 4, "TimeMajor": False, "CellClip": 0.0, **options}
    told = ("UnidirectionalSequenceLSTM", fields)
    operator = Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [len(tensors) - 1], told)
    return build(tensors, [operator], [0], [len(tensors) - 1])


def _with(index: int, tensor: T) -> Callable[[list[T], list[int]], None]:
    return lambda tensors, _: tensors.__setitem__(index, tensor)


def _given(place: int) -> Callable[[list[T], list[int]], None]:
    return lambda _, inputs: inputs.__setitem__(place, 9)


BROKEN_LSTM = {
    **{
        f"input {place}": (_given(place), "peepholes, projection and layer normalization")
        for place in (9, 10, 11, 16, 17, 20, 21, 22, 23)
    },
    "an input of two axes": (_with(0, _a(2, 4)), "input [2, 4], hidden state [1, 3]"),
    "an empty input": (_with(0, _a(1, 0, 4)), "input [1, 0, 4], hidden state [1, 3]"),
    "a hidden state of three axes": (
        _with(13, T((1, 1, 3), "int8", 0.01, 0, variable=True)),
        "hidden state [1, 1, 3]",
    ),
    "a weight of another shape": (_with(2, _w(3, 5)), "its input 2 is int8 [3, 5]"),
    "a recurrent weight of another shape": (_with(8, _w(3, 4)), "its input 8 is int8 [3, 4]"),
    "a bias of another shape": (
        _with(12, T((4,), "int32", 0.0005, 0, [1, 2, 3, 4])),
        "its input 15 is int32 [4]",
    ),
    "a bias of another type": (
        _with(9, T((3,), "int64", 0.0005, 0, [1, 2, 3])),
        "its input 12 is int64 [3]",
    ),
    "a weight of another type": (
        _with(1, T((3, 4), "int16", 0.01, 0, np.ones((3, 4)))),
        "its input 1 is int16 [3, 4]",
    ),
    "a cell state of another type": (
        _with(14, T((1, 3), "int8", 2.0**-11, 0, variable=True)),
        "its state 14 is int8 [1, 3]",
    ),
    "a cell state of another size": (
        _with(14, T((2, 3), "int16", 2.0**-11, 0, variable=True)),
        "its state 14 is int16 [2, 3]",
    ),
    "a hidden state that is no variable": (
        _with(13, T((1, 3), "int8", 0.01, 0, [[0, 0, 0]])),
        "its state 13 is int8 [1, 3]",
    ),
    "a cell state of a scale above 1": (
        _with(14, T((1, 3), "int16", 2.0, 0, variable=True)),
        "its cell state has the scale 2.0",
    ),
    "another output": (_with(15, T((1, 2, 4), "int8", 0.01, 0)), "computes the shape [1, 2, 3]"),
}


@pytest.mark.parametrize("name", BROKEN_LSTM)
def test_an_lstm_that_tflm_has_not_is_refused_in_its_own_words(name: str) -> None:
    change, words = BROKEN_LSTM[name]
    with pytest.raises(HilError) as refusal:
        Interpreter(Model.from_bytes(_lstm(change)))
    assert words in refusal.value.message


def test_an_lstm_of_another_cell_gate_is_refused() -> None:
    model = Model.from_bytes(_lstm(lambda *_: None, FusedActivationFunction=1))
    with pytest.raises(HilError, match="a cell gate other than tanh is not supported"):
        Interpreter(model)


def test_the_lstm_that_the_refused_ones_vary_runs() -> None:
    model = Model.from_bytes(_lstm(lambda *_: None))
    (y,) = Interpreter(model).invoke(random_inputs(model))
    assert y.shape == (1, 2, 3)
    assert len(np.unique(y)) > 1
