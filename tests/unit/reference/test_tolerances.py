"""Limits of scales, sizes and numbers of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from model_builder import Op, T, build
from model_builder import constant as _c
from one_operator_models import activation as _a
from one_operator_models import one_operator as _one
from one_operator_models import weights as _w
from oracle import Oracle

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.window import Axis, Window


def _conv(dtype: str, x: float, w: float, y: float) -> bytes:
    tensors = [
        _a(1, 1, 1, 1, dtype=dtype, scale=x),
        T((1, 1, 1, 1), "int8", w, 0, [[[[3]]]]),
        _a(1, 1, 1, 1, dtype=dtype, scale=y),
    ]
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1}
    return _one("CONV_2D", tensors, [0, 1], ("Conv2D", told))


def _dense(off: float) -> bytes:
    """A bias whose scale is ``off`` output steps too large."""
    bias = T((2,), "int32", 0.25 + off, 0, [1, 2])
    w = T((2, 2), "int8", 0.5, 0, [[1, 2], [3, 4]])
    tensors = [_a(1, 2, scale=0.5), w, bias, _a(1, 2, scale=1.0)]
    return _one("FULLY_CONNECTED", tensors, [0, 1, 2], ("FullyConnected", {}))


def _svdf(off: float) -> bytes:
    """A bias whose scale is ``off`` too large."""
    tensors = [
        _a(1, 4, scale=0.01),
        _w(2, 4),
        T((2, 3), "int16", 0.01, 0, [[1, 2, 3], [4, 5, 6]]),
        T((2,), "int32", 1e-4 + off, 0, [7, 8]),
        T((1, 6), "int16", 0.01, 0, variable=True),
        _a(1, 2, scale=0.5),
    ]
    return _one("SVDF", tensors, [0, 1, 2, 3, 4], ("SVDF", {"Rank": 1}))


def _pool(off: float) -> bytes:
    told = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1, "Padding": 1}
    tensors = [_a(1, 2, 2, 1, scale=0.5), _a(1, 2, 2, 1, scale=0.5 + off)]
    return _one("MAX_POOL_2D", tensors, [0], ("Pool2D", told))


def _softmax(factor: float) -> bytes:
    tensors = [_a(2, dtype="int16"), _a(2, dtype="int16", scale=2**-15 * factor)]
    return _one("SOFTMAX", tensors, [0], ("Softmax", {"Beta": 1.0}))


def _logistic(factor: float) -> bytes:
    return _one(
        "LOGISTIC", [_a(2, dtype="int16"), _a(2, dtype="int16", scale=2**-15 * factor)], [0]
    )


def _less(scale: float) -> bytes:
    tensors = [_a(2, scale=scale), _a(2), T((2,), "bool")]
    return _one("LESS", tensors, [0, 1], ("Less", {}), (0, 1))


def _add(scale: float) -> bytes:
    """Twice the larger scale, 2^-3, over 2^20 output scales is what must be below 1."""
    tensors = [_a(2, scale=0.0625), _a(2, scale=0.0625), _a(2, scale=scale)]
    return _one("ADD", tensors, [0, 1], ("Add", {}), (0, 1))


def _lstm(power: int, bias: int = 1) -> bytes:
    tensors = [
        _a(1, 2, 4),
        *(_w(3, 4) for _ in range(4)),
        *(_w(3, 3) for _ in range(4)),
        *(T((3,), "int32", 0.0005, 0, [bias, 2, 3]) for _ in range(4)),
        T((1, 3), "int8", 0.01, 0, variable=True),
        T((1, 3), "int16", 2.0**power, 0, variable=True),
        T((1, 2, 3), "int8", 0.01, 0),
    ]
    inputs = [*range(9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    told = ("UnidirectionalSequenceLSTM", {"FusedActivationFunction": 4})
    return _one("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, inputs, told)


def _custom(op: str, tensors: list[T], outputs: int = 1, **flex: Any) -> bytes:
    count = len(tensors) - outputs
    results = range(count, len(tensors))
    operator = Op(op, range(count), results, custom=op, custom_options=flexbuffers.Dumps(flex))
    return build(tensors, [operator], [0], results)


def _rfft(length: int) -> bytes:
    tensors = [T((4,), "int16"), T((length + 2,), "int16")]
    return _custom("SignalRfft", tensors, T=7, fft_length=length)


def _delay(length: int) -> bytes:
    return _custom("SignalDelay", [T((2,), "int16")] * 2, delay_length=length)


def _bank(size: int) -> bytes:
    """(2 + 1) * ``size`` weights in the table."""
    rows = ([9] * 6, [3] * 6, [0, 2, 4], [0, 2, 4], [2, 2, 2])
    tensors = [T((size,), "uint32"), *(_c(row, "int16") for row in rows), T((2,), "uint64")]
    return _custom("SignalFilterBank", tensors, num_channels=2)


def _concat(count: int) -> bytes:
    options = ("Concatenation", {"Axis": 1})
    return _one("CONCATENATION", [_a(1, 1), _a(1, count)], [0] * count, options)


def _hard_swish(output: float) -> bytes:
    return _one("HARD_SWISH", [_a(4, scale=1.0), _a(4, scale=output)], [0])


def _div(output: float) -> bytes:
    tensors = [_a(1, scale=1.0), _a(1, scale=1.0), _a(1, scale=output)]
    return _one("DIV", tensors, [0, 1], ("Div", {}), (0, 1))


LIMITS: dict[str, tuple[Callable[[Any], bytes], Any, Any, str]] = {
    # 2^29 and 2^30: the left shifts are one more.
    "a multiplier of 32-bit sums": (
        lambda y: _conv("int8", 2.0**20, 2.0**9, y),
        1.0,
        0.5,
        "a multiplier of 2^31 is beyond",
    ),
    "a multiplier of 64-bit sums": (
        lambda y: _conv("int16", 1.0, 1.0, y),
        1 / 100,
        1 / 128,
        "a multiplier of 2^8 is beyond",
    ),
    "a bias' scale above the products'": (_dense, 0.0195, 0.0205, "its bias has the scale 0.27"),
    "a bias' scale below the products'": (_dense, -0.0195, -0.0205, "its bias has the scale 0.22"),
    "a bias' scale in SVDF": (_svdf, 0.9e-5, 1.1e-5, "its bias has another scale"),
    "a bias' scale in SVDF, below": (_svdf, -0.9e-5, -1.1e-5, "its bias has another scale"),
    "a pool's output scale": (_pool, 0.8e-6, 1.2e-6, "differ in scale or zero point"),
    "SOFTMAX's output scale": (_softmax, 1.00099, 1.00101, "is not SOFTMAX's"),
    "SOFTMAX's output scale, below": (_softmax, 0.99901, 0.99899, "is not SOFTMAX's"),
    "LOGISTIC's output scale": (_logistic, 1.00068, 1.00071, "must have the scale 2^-15"),
    "a scale that is compared": (_less, 0.999, 1.0, "which must be below 1"),
    "the scale of a sum": (_add, 1.2e-7, 2.0**-23, "which must be between 0 and 1"),
    "the scale of a cell state": (_lstm, -30, -31, "its cell state has the scale 4.6"),
    "the scale of a cell state, above": (_lstm, 0, 1, "its cell state has the scale 2.0"),
    "the length of a transform": (_rfft, 1 << 16, 1 << 17, "a length of 131072"),
    "an option of samples": (_delay, 1 << 20, (1 << 20) + 1, "delay_length is 1048577"),
    "the weights of a filter bank": (
        _bank,
        1398101,
        1398102,
        "2 channels of 1398102 bins do not fit tables of 3",
    ),
    "inputs of a CONCATENATION": (_concat, 10, 11, "it has 11 inputs, more than 10"),
    # 2^-7 / output is 1/2 and 1: a multiplier with and one without 16 bits.
    "scales of HARD_SWISH": (_hard_swish, 2.0**-7 * 1.01, 2.0**-7, "differ by 2^8"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_where_it_is(name: str) -> None:
    make, inside, outside, words = LIMITS[name]
    assert Interpreter(Model.from_bytes(make(inside), name)).operators
    with pytest.raises(HilError) as refusal:
        Interpreter(Model.from_bytes(make(outside), "m"))
    assert words in refusal.value.message


@pytest.mark.parametrize(("bias", "expected"), [((1 << 31) - 2, 64), ((1 << 31) - 1, -64)])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_32_bits_wrap_as_on_the_device(
    bias: int, expected: int, sign: int, micro: Oracle
) -> None:
    """One product of 1 and the bias, in steps of 2^-25 of an output's step."""
    tensors = [
        T((1, 1), "int8", 0.5, 0),
        T((1, 1), "int8", 1.0, 0, [[1]]),
        T((1,), "int32", 0.5, 0, [sign * bias if sign > 0 else -bias - 1]),
        T((1, 1), "int8", 2.0**24, 0),
    ]
    options = ("FullyConnected", {})
    model = _one("FULLY_CONNECTED", tensors, [0, 1, 2], options)
    x, wanted = np.array([[sign]], np.int8), sign * expected
    interpreter = Interpreter(Model.from_bytes(model))
    assert interpreter.invoke([x])[0].tolist() == [[wanted]]
    assert interpreter.invoke_batch([x[None]])[0].tolist() == [[[wanted]]]
    assert micro.run(model, [[x]])[0][0][0].tolist() == [[wanted]]


def _long_product(op: str, depth: int) -> bytes:
    """``depth`` products of what is 2^-12 and 2^-13 a step, into steps of 1."""
    x, y = T((1, depth), "int8", 2.0**-12, -128), T((1, 1), "int8", 1.0, 0)
    if op == "BATCH_MATMUL":
        w = T((depth, 1), "int8", 2.0**-13, 0, np.full((depth, 1), 127))
        return _one(op, [x, w, y], [0, 1], ("BatchMatMul", {}))
    if op == "FULLY_CONNECTED":
        w = T((1, depth), "int8", 2.0**-13, 0, np.full((1, depth), 127))
        return _one(op, [x, w, y], [0, 1, -1], ("FullyConnected", {}))
    shape = (1, 2, 2, depth // 4)
    w = T(shape, "int8", 2.0**-13, 0, np.full(shape, 127))
    x, y, bias = replace(x, shape=shape), replace(y, shape=(1, 1, 1, 1)), _c([0])
    bias.scale = 2.0**-25
    told = {"StrideH": 1, "StrideW": 1, "Padding": 1}
    return _one(op, [x, w, bias, y], [0, 1, 2], ("Conv2D", told))


@pytest.mark.parametrize(("depth", "expected"), [(66_000, 64), (68_000, -62)])
@pytest.mark.parametrize("op", ["BATCH_MATMUL", "CONV_2D", "FULLY_CONNECTED"])
def test_sums_of_many_products_wrap_as_on_the_device(
    op: str, depth: int, expected: int, micro: Oracle
) -> None:
    """255 * 127 * depth is 63.7 * 2^25 or 65.6 * 2^25; 64 * 2^25 is -64 * 2^25 in 32 bits."""
    model = _long_product(op, depth)
    interpreter = Interpreter(Model.from_bytes(model))
    x = np.full(interpreter.inputs[0].shape, 127, np.int8)
    assert interpreter.invoke([x])[0].ravel().tolist() == [expected]
    assert interpreter.invoke_batch([np.stack([x] * 2)])[0].ravel().tolist() == [expected] * 2
    assert micro.run(model, [[x]])[0][0][0].ravel().tolist() == [expected]


@pytest.mark.parametrize(("depth", "expected"), [(66_000, 127), (70_000, -121)])
def test_svdf_features_of_32_bits_wrap_as_on_the_device(
    depth: int, expected: int, micro: Oracle
) -> None:
    """255 * 127 * depth is below 2^31 or above: in steps of 2^-17 and 2^-7, 127 or -121."""
    tensors = [
        T((1, depth), "int8", 2.0**-8, -128),
        T((1, depth), "int8", 2.0**-9, 0, np.full((1, depth), 127)),
        T((1, 1), "int16", 2.0**-7, 0, [[1]]),
        T((1,), "int32", 2.0**-7, 0, [0]),
        T((1, 1), "int16", 1.0, 0, variable=True),
        T((1, 1), "int8", 1.0, 0),
    ]
    model = _one("SVDF", tensors, [0, 1, 2, 3, 4], ("SVDF", {"Rank": 1}))
    x = np.full((1, depth), 127, np.int8)
    interpreter = Interpreter(Model.from_bytes(model))
    assert interpreter.invoke([x])[0].tolist() == [[expected]]
    assert interpreter.invoke_batch([np.stack([x] * 2)])[0].tolist() == [[[expected]]] * 2
    assert micro.run(model, [[x]])[0][0][0].tolist() == [[expected]]


def test_an_lstm_with_biases_beyond_double_precision_equals(micro: Oracle) -> None:
    model = _lstm(-11, bias=1 << 30)
    x = np.arange(-4, 4, dtype=np.int8).reshape(1, 2, 4)
    (wanted,), _ = micro.run(model, [[x]])
    np.testing.assert_array_equal(Interpreter(Model.from_bytes(model)).invoke([x])[0], wanted[0])


def test_an_lstm_of_the_smallest_cell_scale_runs_as_on_the_device(micro: Oracle) -> None:
    model = _lstm(-15)
    x = np.random.default_rng(3).integers(-128, 128, (1, 2, 4)).astype(np.int8)
    (wanted,), _ = micro.run(model, [[x]])
    np.testing.assert_array_equal(Interpreter(Model.from_bytes(model)).invoke([x])[0], wanted[0])


@pytest.mark.parametrize("beyond", [2.0**-40, 2.0**-30, 8.0])
def test_quotients_with_too_large_a_shift_are_refused_at_run_time(beyond: float) -> None:
    """1 / 1 is 2^30 output steps, or an eighth of one, for which there is no shift."""
    one = np.ones(1, np.int8)
    with pytest.raises(HilError, match="shift a quotient by more than 31 bits"):
        Interpreter(Model.from_bytes(_div(beyond))).invoke([one, one])


@pytest.mark.parametrize(
    ("scale", "x", "expected"), [(2.0**-29, 1, 127), (4.0, 1, 0), (4.0, 2, 1), (0.5, 7, 7)]
)
def test_quotients_up_to_the_last_shift_run(
    scale: float, x: int, expected: int, micro: Oracle
) -> None:
    data, two = _div(scale), np.array([2 - (scale != 0.5)], np.int8)
    inputs = [np.array([x], np.int8), two]
    assert Interpreter(Model.from_bytes(data)).invoke(inputs)[0].tolist() == [expected]
    assert micro.run(data, [inputs])[0][0][0].tolist() == [expected]


def test_computed_places_are_each_their_own() -> None:
    """More different ones than are remembered."""
    tensors = [_a(200), T((1,), "int32"), _c([2]), _a(2)]
    model = _one("SLICE", tensors, [0, 1, 2], ("Slice", {}), (0, 1))
    interpreter = Interpreter(Model.from_bytes(model))
    x = np.arange(200).astype(np.uint8).view(np.int8)
    for begin in (*range(0, 199, 2), 0, 1):
        (y,) = interpreter.invoke([x, np.array([begin], np.int32)])
        assert y.view(np.uint8).tolist() == [begin, begin + 1]
    begins = np.array([[3], [5], [3]], np.int32)
    (together,) = interpreter.invoke_batch([np.stack([x] * 3), begins])
    assert together.view(np.uint8).tolist() == [[3, 4], [5, 6], [3, 4]]


@pytest.mark.parametrize(
    ("axis", "padded"),
    [
        (Axis(size=5, kernel=3, stride=2, dilation=1, out=2, before=0), 5),
        (Axis(size=4, kernel=3, stride=2, dilation=1, out=2, before=0), 5),
        (Axis(size=4, kernel=2, stride=1, dilation=3, out=3, before=1), 6),
        (Axis(size=7, kernel=3, stride=2, dilation=1, out=2, before=0), 7),
        (Axis(size=7, kernel=3, stride=2, dilation=1, out=2, before=2), 9),
    ],
)
def test_a_padded_axis_ends_with_its_last_window_or_its_image(axis: Axis, padded: int) -> None:
    assert axis.padded == padded


@pytest.mark.parametrize("block", [1, 6, 12, 24, 1000])
@pytest.mark.parametrize(("images", "depth"), [(5, 1), (5, 2), (1, 7)])
def test_blocks_of_windows_are_all_windows_once(
    block: int, images: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("harness.reference.window.BLOCK", block)
    window = Window(Axis(3, 1, 1, 1, 3, 0), Axis(4, 1, 1, 1, 4, 0))
    seen = np.zeros((images, 3, 4), int)
    blocks = list(window.blocks(images, depth))
    for each in blocks:
        seen[each] += 1
        size = seen[each].size
        assert size == 1 or size * depth <= block
    assert (seen == 1).all()
    if block == 24 and depth == 1:
        assert len(blocks) == -(-images // 2)
