"""Pools, products and LSTMs: messages for unsupported types, shapes and scales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from model_builder import Op, T, build
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import assert_refused, pool, random_inputs, real, unary, wide
from one_operator_models import one_operator as _one
from one_operator_models import weights as _w

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter

_INTS = T((2,), "int32")


def _dense(x: T, w: T, y: T, *bias: T) -> bytes:
    tensors = [x, w, *bias, y]
    return _one("FULLY_CONNECTED", tensors, range(len(tensors) - 1), ("FullyConnected", {}))


def _conv(x: T, w: T, y: T, *bias: T, **options: int) -> bytes:
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1, **options}
    tensors = [x, w, *bias, y]
    return _one("CONV_2D", tensors, range(len(tensors) - 1), ("Conv2D", told))


_BIAS = T((2,), "int32", 0.0005, 0, [1, 2])


REFUSED = {
    "AVERAGE_POOL_2D of a padding that is none": (
        pool(_a(1, 2, 2, 1), _a(1, 2, 2, 1), Padding=2),
        "its padding is",
    ),
    "AVERAGE_POOL_2D of three axes": (
        pool(_a(2, 2, 1), _a(2, 2, 1)),
        "its input has the shape [2, 2, 1], not four axes",
    ),
    "AVERAGE_POOL_2D of an empty image": (
        pool(_a(1, 2, 2, 0), _a(1, 2, 2, 0)),
        "its input [1, 2, 2, 0] is empty",
    ),
    "AVERAGE_POOL_2D of a kernel that does not fit": (
        pool(_a(1, 2, 2, 1), _a(1, 0, 2, 1), FilterHeight=3),
        "a kernel of 3 does not fit an input of 2",
    ),
    "AVERAGE_POOL_2D of a huge kernel": (
        pool(_a(1, 2, 2, 1), _a(1, 2, 2, 1), Padding=0, FilterHeight=257, FilterWidth=256),
        "a kernel of 257 x 256 has more than 65536 elements",
    ),
    "AVERAGE_POOL_2D to another shape": (
        pool(_a(1, 2, 2, 1), _a(1, 2, 1, 1)),
        "computes the shape [1, 2, 2, 1]",
    ),
    "CONV_2D of a dilation of 0": (
        _conv(_a(1, 2, 2, 1), _w(1, 1, 1, 1), _a(1, 2, 2, 1), DilationHFactor=0),
        "size 2, kernel 1, stride 1 or dilation 0 is not positive",
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
        "its padded input has more than",
    ),
    "CONV_2D of int16 weights": (
        _conv(_a(1, 1, 1, 1), _c([[[[1]]]], "int16"), _a(1, 1, 1, 1)),
        "int8 with int16 weights is not supported",
    ),
    "CONV_2D of int16 with int4 weights": (
        _conv(wide(1, 1, 1, 1), T((1, 1, 1, 1), "int4", 0.1, 0, [[[[1]]]]), wide(1, 1, 1, 1)),
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
        "its bias is int16, beside int8 activations",
    ),
    "CONV_2D of int16 and a bias of int16": (
        _conv(
            _a(1, 1, 1, 1, dtype="int16"),
            _w(2, 1, 1, 1),
            _a(1, 1, 1, 2, dtype="int16"),
            _c([1, 2], "int16"),
        ),
        "its bias is int16, beside int16 activations",
    ),
    "CONV_2D of a bias for fewer channels": (
        _conv(_a(1, 1, 1, 1), _w(3, 1, 1, 1), _a(1, 1, 1, 3), _BIAS),
        "its bias has 2 elements for 3 channels",
    ),
    "CONV_2D of a multiplier beyond all scaling": (
        _conv(_a(1, 1, 1, 1, scale=1e12), _w(1, 1, 1, 1), _a(1, 1, 1, 1)),
        "is beyond the range of TFLM's scaling",
    ),
    "CONV_2D of int16 of a multiplier beyond the scaling of 64 bits": (
        _conv(
            _a(1, 1, 1, 1, dtype="int16", scale=0.5 * 256),
            _w(1, 1, 1, 1),
            _a(1, 1, 1, 1, dtype="int16", scale=0.5 * 0.01),
        ),
        "a multiplier of 2^9 is beyond the range of TFLM's scaling",
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
        unary("QUANTIZE", T((2,), "int64"), _a(2)),
        "int64 to int8 is not supported",
    ),
    "QUANTIZE to float32": (unary("QUANTIZE", _a(2), real(2)), "int8 to float32 is not supported"),
    "QUANTIZE to another shape": (unary("QUANTIZE", real(2), _a(3)), "computes the shape [2]"),
    "QUANTIZE to no scale": (unary("QUANTIZE", real(2), T((2,), "int8")), "('t1') has no scale"),
    "DEQUANTIZE of int32": (
        unary("DEQUANTIZE", _INTS, real(2)),
        "int32 to float32 is not supported",
    ),
    "DEQUANTIZE to int8": (unary("DEQUANTIZE", _a(2), _a(2)), "int8 to int8 is not supported"),
    "DEQUANTIZE to another shape": (unary("DEQUANTIZE", _a(2), real(3)), "computes the shape [2]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_values_are_refused_with_a_reason(name: str) -> None:
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
    "a hidden state that is not a variable": (
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
def test_an_unsupported_lstm_is_refused_with_the_reason(name: str) -> None:
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
