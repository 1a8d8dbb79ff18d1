"""What tflite-micro refuses or aborts on, the reference refuses; what it runs, the reference runs.

Each rule is held against the official interpreter: its refusal is the test's claim, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from model_builder import Op, T, build
from oracle import Oracle, Refused
from seeds_more import constant

from harness.errors import BadModel, HilError, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter

Options = tuple[str, dict[str, Any]]


def _a(*shape: int, dtype: str = "int8", scale: float = 0.05, zero: int = 0) -> T:
    return T(shape, dtype, scale, zero)


def _weights(*shape: int, zero: int = 0, scales: int = 1) -> T:
    values = np.random.default_rng(7).integers(-127, 128, shape)
    return T(shape, "int8", [0.01] * scales, [zero] * scales, values)


def _one(
    op: str,
    tensors: Sequence[T],
    inputs: Sequence[int],
    options: Options | None = None,
    fed: Sequence[int] = (0,),
) -> bytes:
    last = len(tensors) - 1
    return build(tensors, [Op(op, inputs, [last], options)], fed, [last])


def _inputs(model: Model, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    ranges = {"bool": (0, 2), "int8": (-128, 128), "int16": (-(1 << 15), 1 << 15)}
    return [
        rng.integers(*ranges.get(t.dtype, (-99, 100)), t.shape).astype(t.dtype)
        for t in model.inputs
    ]


_CONCAT = ("Concatenation", {"Axis": 1})
_INT16 = {"dtype": "int16"}
_SSLICE = [constant(v) for v in ([0, 1], [1, 3], [1, 1])]
REFUSED = {
    "CONCATENATION of another scale": (
        _one("CONCATENATION", [_a(1, 2), _a(1, 2, scale=0.06), _a(1, 4)], [0, 1], _CONCAT, (0, 1)),
        "differ in scale",
    ),
    "CONCATENATION of another zero point": (
        _one("CONCATENATION", [_a(1, 2), _a(1, 2, zero=3), _a(1, 4)], [0, 1], _CONCAT, (0, 1)),
        "differ in scale or zero point",
    ),
    "CONCATENATION of int16 with a zero point": (
        _one(
            "CONCATENATION",
            [_a(1, 2, **_INT16, zero=1), _a(1, 4, **_INT16, zero=1)],
            [0, 0],
            _CONCAT,
        ),
        "zero point 0",
    ),
    "CONCATENATION of eleven inputs": (
        _one("CONCATENATION", [_a(1, 1), _a(1, 11)], [0] * 11, _CONCAT),
        "11 inputs",
    ),
    "CONCATENATION with an activation": (
        _one(
            "CONCATENATION",
            [_a(1, 2), _a(1, 4)],
            [0, 0],
            ("Concatenation", {"Axis": 1, "FusedActivationFunction": 1}),
        ),
        "fused activation",
    ),
    "CONCATENATION of uint8": (
        _one("CONCATENATION", [T((1, 2), "uint8"), T((1, 4), "uint8")], [0, 0], _CONCAT),
        "type is uint8",
    ),
    "SQUEEZE of an axis that is not 1": (
        _one("SQUEEZE", [_a(2, 3, 1), _a(2, 3)], [0], ("Squeeze", {"SqueezeDims": [1]})),
        "axis 1 of",
    ),
    "TRANSPOSE with a negative axis": (
        _one("TRANSPOSE", [_a(2, 3), constant([-1, 0]), _a(3, 2)], [0, 1], ("Transpose", {})),
        "permutation",
    ),
    "TRANSPOSE of int32": (
        _one(
            "TRANSPOSE",
            [T((2, 3), "int32"), constant([1, 0]), T((3, 2), "int32")],
            [0, 1],
            ("Transpose", {}),
        ),
        "type is int32",
    ),
    "SLICE of int64": (
        _one(
            "SLICE",
            [T((2, 3), "int64"), constant([0, 1]), constant([1, 2]), T((1, 2), "int64")],
            [0, 1, 2],
            ("Slice", {}),
        ),
        "type is int64",
    ),
    "STRIDED_SLICE of int64": (
        _one(
            "STRIDED_SLICE",
            [T((2, 3), "int64"), *_SSLICE, T((1, 2), "int64")],
            [0, 1, 2, 3],
            ("StridedSlice", {}),
        ),
        "type is int64",
    ),
    "PACK of bool": (
        _one("PACK", [T((3,), "bool"), T((2, 3), "bool")], [0, 0], ("Pack", {"ValuesCount": 2})),
        "type is bool",
    ),
    "EXPAND_DIMS of int32": (
        _one(
            "EXPAND_DIMS",
            [T((3,), "int32"), constant([0]), T((1, 3), "int32")],
            [0, 1],
            ("ExpandDims", {}),
        ),
        "type is int32",
    ),
    "PADV2 with a value of another scale": (
        _one(
            "PADV2",
            [_a(2), constant([[1, 1]]), T((1,), "int8", 0.06, 0, [3]), _a(4)],
            [0, 1, 2],
            ("PadV2", {}),
        ),
        "differ in scale",
    ),
    "ADD of quantized int32": (
        _one("ADD", [_a(2, dtype="int32"), _a(2, dtype="int32")], [0, 0], ("Add", {})),
        "must not be quantized",
    ),
    "SUB of quantized int32": (
        _one("SUB", [_a(2, dtype="int32"), _a(2, dtype="int32")], [0, 0], ("Sub", {})),
        "must not be quantized",
    ),
    "DIV of quantized int32": (
        _one("DIV", [_a(2, dtype="int32"), _a(2, dtype="int32")], [0, 0], ("Div", {})),
        "must not be quantized",
    ),
    "MUL of int16 with a zero point": (
        _one("MUL", [_a(2, **_INT16, zero=1), _a(2, **_INT16)], [0, 0], ("Mul", {})),
        "zero point 0",
    ),
    "RELU of int16 with a zero point": (
        _one("RELU", [_a(2, **_INT16, zero=1), _a(2, **_INT16)], [0]),
        "zero point 0",
    ),
    "ABS of int16 with a zero point": (
        _one("ABS", [_a(2, **_INT16, zero=1), _a(2, **_INT16)], [0], ("Abs", {})),
        "zero point 0",
    ),
    "LOGISTIC of int16 with a zero point": (
        _one("LOGISTIC", [_a(2, **_INT16, zero=1), _a(2, dtype="int16", scale=2**-15)], [0]),
        "zero point 0",
    ),
    "LOGISTIC of int16 of another output scale": (
        _one("LOGISTIC", [_a(2, **_INT16), _a(2, dtype="int16", scale=2**-14)], [0]),
        "scale 2\\^-15",
    ),
    "LOGISTIC of int8 of another output zero point": (
        _one("LOGISTIC", [_a(2), _a(2, scale=1 / 256)], [0]),
        "zero point -128",
    ),
    "SOFTMAX of another output scale": (
        _one("SOFTMAX", [_a(2), _a(2, scale=1 / 128, zero=-128)], [0], ("Softmax", {"Beta": 1.0})),
        "not SOFTMAX's",
    ),
    "LOG_SOFTMAX of another output scale": (
        _one("LOG_SOFTMAX", [_a(2), _a(2, scale=1 / 8, zero=127)], [0], ("LogSoftmax", {})),
        "not 1/16",
    ),
    "MAX_POOL_2D of another scale": (
        _one(
            "MAX_POOL_2D",
            [_a(1, 2, 2, 1), _a(1, 2, 2, 1, scale=0.06)],
            [0],
            ("Pool2D", {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1}),
        ),
        "differ in scale",
    ),
    "REDUCE_MAX of another scale": (
        _one("REDUCE_MAX", [_a(2, 2), constant([0]), _a(2, scale=0.06)], [0, 1], ("Reducer", {})),
        "differ in scale",
    ),
    "ADD_N of another scale": (
        _one("ADD_N", [_a(2), _a(2, scale=0.06), _a(2)], [0, 1], ("AddN", {}), (0, 1)),
        "differ in scale",
    ),
    "SQUARED_DIFFERENCE of int16 with a zero point": (
        _one(
            "SQUARED_DIFFERENCE",
            [_a(2, **_INT16, zero=1), _a(2, **_INT16)],
            [0, 0],
            ("SquaredDifference", {}),
        ),
        "zero point 0",
    ),
    "L2_NORMALIZATION with an activation": (
        _one(
            "L2_NORMALIZATION",
            [_a(1, 2), _a(1, 2, scale=1 / 128)],
            [0],
            ("L2Norm", {"FusedActivationFunction": 1}),
        ),
        "fused activation",
    ),
    "CONV_2D whose weights have no scale": (
        _one(
            "CONV_2D",
            [_a(1, 2, 2, 1), T((1, 1, 1, 1), "int8", data=[[[[3]]]]), _a(1, 2, 2, 1)],
            [0, 1],
            ("Conv2D", {"StrideH": 1, "StrideW": 1}),
        ),
        "no scale",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_tflm_refuses_is_refused_and_says_so(case: str, micro: Oracle) -> None:
    data, words = REFUSED[case]
    model = Model.from_bytes(data)
    inputs = _inputs(model)
    with pytest.raises(Refused):
        micro.run(data, [inputs])
    with pytest.raises(BadModel, match=words) as refusal:
        Interpreter(model).invoke(inputs)
    assert refusal.value.hint == "TFLM refuses such a model too"
    assert case.split(maxsplit=1)[0] in refusal.value.message


_UNIT = {"StrideH": 1, "StrideW": 1, "Padding": 1}
_CONV, _TRANSPOSED = ("Conv2D", _UNIT), ("TransposeConv", _UNIT)
_DEPTHWISE = ("DepthwiseConv2D", {**_UNIT, "DepthMultiplier": 1})
_IMAGE = (1, 4, 4, 3)


def _odd(dtype: str, *shape: int, **more: Any) -> T:
    """An activation with a zero point, which int16 should not have."""
    return _a(*shape, dtype=dtype, zero=5, **more)


RUN = {
    **{
        f"LOGISTIC of the scale {scale}": _one(
            "LOGISTIC", [_a(9, scale=scale, zero=3), _a(9, scale=1 / 256, zero=-128)], [0]
        )
        for scale in (7.9, 8.0, 16.0, 3000.0)
    },
    **{
        f"TANH of the scale {scale}": _one(
            "TANH", [_a(9, scale=scale, zero=3), _a(9, scale=1 / 128)], [0]
        )
        for scale in (7.9, 8.0, 16.0, 3000.0)
    },
    "LEAKY_RELU of int16 with zero points": _one(
        "LEAKY_RELU",
        [_odd("int16", 9), _a(9, dtype="int16", zero=-7)],
        [0],
        ("LeakyRelu", {"Alpha": 0.3}),
    ),
    "RELU6 of int16 with zero points": _one("RELU6", [_odd("int16", 9), _odd("int16", 9)], [0]),
    "FULLY_CONNECTED of int8 weights with a zero point": _one(
        "FULLY_CONNECTED",
        [_odd("int8", 2, 20), _weights(6, 20, zero=-7), _a(2, 6, scale=0.3)],
        [0, 1, -1],
        ("FullyConnected", {}),
    ),
    "FULLY_CONNECTED of per-channel weights with zero points": _one(
        "FULLY_CONNECTED",
        [_a(2, 20), _weights(6, 20, zero=3, scales=6), _a(2, 6, scale=0.3)],
        [0, 1, -1],
        ("FullyConnected", {}),
    ),
    **{
        f"CONV_2D of {dtype} with odd zero points": _one(
            "CONV_2D",
            [
                _odd(dtype, *_IMAGE),
                _weights(6, 3, 3, 3, zero=9),
                _odd(dtype, 1, 2, 2, 6, scale=1.0),
            ],
            [0, 1],
            _CONV,
        )
        for dtype in ("int8", "int16")
    },
    **{
        f"DEPTHWISE_CONV_2D of {dtype} with odd zero points": _one(
            "DEPTHWISE_CONV_2D",
            [
                _odd(dtype, *_IMAGE),
                _weights(1, 3, 3, 3, zero=9),
                _odd(dtype, 1, 2, 2, 3, scale=1.0),
            ],
            [0, 1],
            _DEPTHWISE,
        )
        for dtype in ("int8", "int16")
    },
    **{
        f"TRANSPOSE_CONV of {dtype} with odd zero points": _one(
            "TRANSPOSE_CONV",
            [
                constant([1, 6, 6, 5]),
                _weights(5, 3, 3, 3, zero=9),
                _odd(dtype, *_IMAGE),
                _odd(dtype, 1, 6, 6, 5, scale=1.0),
            ],
            [0, 1, 2],
            _TRANSPOSED,
            (2,),
        )
        for dtype in ("int8", "int16")
    },
    "SLICE at a computed place": _one(
        "SLICE",
        [_a(4, 5), T((2,), "int32"), constant([2, 3]), _a(2, 3)],
        [0, 1, 2],
        ("Slice", {}),
        (0, 1),
    ),
    "MEAN over a computed axis": _one(
        "MEAN", [_a(4, 4), T((1,), "int32"), _a(4)], [0, 1], ("Reducer", {}), (0, 1)
    ),
    "ARG_MAX along a computed axis": _one(
        "ARG_MAX",
        [_a(4, 4), T((1,), "int32"), T((4,), "int32")],
        [0, 1],
        ("ArgMax", {"OutputType": 2}),
        (0, 1),
    ),
    "SQUEEZE of all axes of size 1": _one("SQUEEZE", [_a(1, 3, 1), _a(3)], [0], ("Squeeze", {})),
}


@pytest.mark.parametrize("case", RUN)
def test_what_tflm_runs_is_run(case: str, micro: Oracle) -> None:
    model = Model.from_bytes(RUN[case])
    interpreter = Interpreter(model)
    for seed in range(5):
        inputs = _inputs(model, seed)
        if model.inputs[-1].dtype == "int32":
            inputs[-1] %= 2
        (wanted,), _ = micro.run(RUN[case], [inputs])
        np.testing.assert_array_equal(interpreter.invoke(inputs)[0].ravel(), wanted[0].ravel())


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_lstm_weights_with_a_zero_point_are_run(dtype: str, micro: Oracle) -> None:
    rng = np.random.default_rng(2)
    weights = [_weights(3, 4 if gate < 4 else 3, zero=7) for gate in range(8)]
    biases = [
        T((3,), "int32" if dtype == "int8" else "int64", 5e-4, 0, rng.integers(-99, 99, 3))
        for _ in range(4)
    ]
    states = [
        T((1, 3), dtype, 0.01, 0, variable=True),
        T((1, 3), "int16", 2.0**-11, 0, variable=True),
    ]
    tensors = [
        _a(1, 5, 4, dtype=dtype),
        *weights,
        *biases,
        *states,
        _a(1, 5, 3, dtype=dtype, scale=0.01),
    ]
    places = [*range(9), -1, -1, -1, 9, 10, 11, 12, -1, -1, 13, 14, -1, -1, -1, -1]
    options = ("UnidirectionalSequenceLSTM", {"FusedActivationFunction": 4})
    data = _one("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, places, options)
    model = Model.from_bytes(data)
    (wanted,), _ = micro.run(data, [_inputs(model)])
    np.testing.assert_array_equal(Interpreter(model).invoke(_inputs(model))[0], wanted[0])


def _softmax(size: int, output: T) -> bytes:
    return _one("SOFTMAX", [_a(size, scale=0.1), output], [0], ("Softmax", {"Beta": 1.0}))


def test_a_softmax_of_512_equal_logits_is_refused_where_tflm_aborts(micro: Oracle) -> None:
    data = _softmax(512, _a(512, scale=1 / 256, zero=-128))
    equal = [np.zeros(512, np.int8)]
    with pytest.raises(Refused, match="ended with code"):
        micro.run(data, [equal])
    interpreter = Interpreter(Model.from_bytes(data))
    with pytest.raises(BadModel, match=r"SOFTMAX.*sum is 512 or more") as refusal:
        interpreter.invoke(equal)
    assert "TFLM aborts" in refusal.value.hint
    other = [np.append(np.zeros(511), -1).astype(np.int8)]
    (wanted,), _ = micro.run(data, [other])
    np.testing.assert_array_equal(interpreter.invoke(other)[0], wanted[0])


def test_a_softmax_to_int16_of_512_equal_logits_runs(micro: Oracle) -> None:
    data = _softmax(512, _a(512, dtype="int16", scale=1 / 65536, zero=-32768))
    equal = [np.zeros(512, np.int8)]
    (wanted,), _ = micro.run(data, [equal])
    np.testing.assert_array_equal(Interpreter(Model.from_bytes(data)).invoke(equal)[0], wanted[0])


def test_shapes_that_do_not_broadcast_are_refused_where_tflm_aborts(micro: Oracle) -> None:
    shape = T((2,), "int32")
    data = _one("BROADCAST_ARGS", [shape, shape, shape], [0, 1], fed=(0, 1))
    inputs = [np.array([2, 3], np.int32), np.array([2, 4], np.int32)]
    with pytest.raises(Refused, match="ended with code"):
        micro.run(data, [inputs])
    with pytest.raises(BadModel, match="do not broadcast") as refusal:
        Interpreter(Model.from_bytes(data)).invoke(inputs)
    assert "TFLM aborts" in refusal.value.hint


@pytest.mark.parametrize(
    ("op", "zero"), [("DIV", "its divisor is zero"), ("FLOOR_DIV", "its divisor is zero")]
)
def test_a_divisor_of_zero_is_refused(op: str, zero: str) -> None:
    dtype = "int32" if op == "DIV" else "float32"
    tensors = [T((2,), dtype)] * 3
    options = ("Div" if op == "DIV" else "FloorDiv", {})
    interpreter = Interpreter(Model.from_bytes(_one(op, tensors, [0, 1], options, (0, 1))))
    with pytest.raises(BadModel, match=zero):
        interpreter.invoke([np.ones(2, dtype), np.array([1, 0], dtype)])


def test_a_place_outside_a_table_is_refused() -> None:
    tensors = [_a(4, 3), T((2,), "int32"), _a(2, 3)]
    interpreter = Interpreter(
        Model.from_bytes(_one("GATHER", tensors, [0, 1], ("Gather", {}), (0, 1)))
    )
    table = np.zeros((4, 3), np.int8)
    for places in ([0, 4], [-1, 0]):
        with pytest.raises(BadModel, match="asks for element"):
            interpreter.invoke([table, np.array(places, np.int32)])


def test_all_unsupported_operators_are_named_at_once_with_the_way_out() -> None:
    x = T((3,), "float32")
    names = [("UNIQUE", ""), ("CUSTOM", "Fancy"), ("NEG", ""), ("CUSTOM", "Fancier")]
    operators = [Op(name, [i], [i + 1], custom=own) for i, (name, own) in enumerate(names)]
    model = Model.from_bytes(build([x] * 5, operators, [0], [4]))
    with pytest.raises(UnsupportedOperator) as refusal:
        Interpreter(model)
    for name in ("0 (UNIQUE", "1 (Fancy", "3 (Fancier"):
        assert name in refusal.value.message
    assert "NEG" not in refusal.value.message
    assert "tflm_hil.kernels" in refusal.value.hint
    assert "docs/reference.md" in refusal.value.hint
    assert isinstance(refusal.value, HilError)


def test_a_scale_without_zero_point_is_no_quantization() -> None:
    x = T((2,), "int8", 0.5, None)
    model = Model.from_bytes(build([x, x], [Op("RELU", [0], [1])], [0], [1]))
    assert model.inputs[0].quantization is None
