"""Models that tflite-micro refuses or aborts on are refused with the reason.

Each rule is held against the official interpreter: its refusal is the test's claim, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from flatbuffers import flexbuffers
from model_builder import Op, T, build, constant
from one_operator_models import activation as _a
from one_operator_models import one_operator as _one
from one_operator_models import random_inputs as _inputs
from oracle import Oracle, Refused

from harness.base.errors import BadModel, HilError, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter

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
    "UNPACK of int64": (
        _one("UNPACK", [T((1, 3), "int64"), T((3,), "int64")], [0], ("Unpack", {"Num": 1})),
        "type is int64",
    ),
    "SPLIT of int64": (
        _one(
            "SPLIT",
            [T((2,), "int64"), constant([0]), T((2,), "int64")],
            [1, 0],
            ("Split", {"NumSplits": 1}),
        ),
        "type is int64",
    ),
    "SPLIT_V of int64": (
        _one(
            "SPLIT_V",
            [T((2,), "int64"), constant([2]), constant([0]), T((2,), "int64")],
            [0, 1, 2],
            ("SplitV", {"NumSplits": 1}),
        ),
        "type is int64",
    ),
    "SHAPE of a type that the schema does not have": (
        _one("SHAPE", [_a(2, 3), T((2,), "int32")], [0], ("Shape", {"OutType": -1})),
        "type#-1",
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
def test_models_that_tflm_refuses_are_refused_with_the_reason(case: str, micro: Oracle) -> None:
    data, words = REFUSED[case]
    model = Model.from_bytes(data)
    inputs = _inputs(model)
    with pytest.raises(Refused):
        micro.run(data, [inputs])
    with pytest.raises(BadModel, match=words) as refusal:
        Interpreter(model).invoke(inputs)
    assert refusal.value.hint == "TFLM refuses such a model too"
    assert case.split(maxsplit=1)[0] in refusal.value.message


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


@pytest.mark.parametrize("size", [512, 4096, 8191])
def test_a_softmax_to_int16_of_many_equal_logits_runs(size: int, micro: Oracle) -> None:
    data = _softmax(size, _a(size, dtype="int16", scale=1 / 65536, zero=-32768))
    equal = np.zeros(size, np.int8)
    (wanted,), _ = micro.run(data, [[equal]])
    interpreter = Interpreter(Model.from_bytes(data))
    np.testing.assert_array_equal(interpreter.invoke([equal])[0], wanted[0])
    np.testing.assert_array_equal(interpreter.invoke_batch([equal[None]])[0][0], wanted[0])


def test_a_softmax_whose_sum_overflows_to_0_is_refused_where_tflm_aborts(micro: Oracle) -> None:
    """8192 in fixed point is 2^32."""
    data = _softmax(8192, _a(8192, dtype="int16", scale=1 / 65536, zero=-32768))
    equal = np.zeros(8192, np.int8)
    with pytest.raises(Refused, match="ended with code"):
        micro.run(data, [[equal]])
    interpreter = Interpreter(Model.from_bytes(data))
    for run in (interpreter.invoke, interpreter.invoke_batch):
        values = equal if run == interpreter.invoke else equal[None]
        with pytest.raises(BadModel, match=r"SOFTMAX.*sum is 8192 or more"):
            run([values])


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


def test_an_index_outside_a_table_is_refused() -> None:
    tensors = [_a(4, 3), T((2,), "int32"), _a(2, 3)]
    interpreter = Interpreter(
        Model.from_bytes(_one("GATHER", tensors, [0, 1], ("Gather", {}), (0, 1)))
    )
    table = np.zeros((4, 3), np.int8)
    for places in ([0, 4], [-1, 0]):
        with pytest.raises(BadModel, match="reads element"):
            interpreter.invoke([table, np.array(places, np.int32)])


def test_a_filter_bank_of_energies_that_are_not_a_vector_is_refused(micro: Oracle) -> None:
    tables = [constant(v, "int16") for v in ([9] * 8, [3] * 8, [0, 2, 4], [0, 2, 4], [2] * 3)]
    tensors = [T((1, 8), "uint32"), *tables, T((2,), "uint64")]
    flex = flexbuffers.Dumps({"num_channels": 2})
    name = "SignalFilterBank"
    data = build(tensors, [Op(name, range(6), [6], custom=name, custom_options=flex)], [0], [6])
    with pytest.raises(Refused):
        micro.run(data, [[np.ones((1, 8), np.uint32)]])
    with pytest.raises(BadModel, match="is not a vector") as refusal:
        Interpreter(Model.from_bytes(data))
    assert refusal.value.hint == "TFLM refuses such a model too"


def test_all_unsupported_operators_are_named_at_once_with_a_hint() -> None:
    x = T((3,), "float32")
    names = [("CUSTOM", "Fancy"), ("NEG", ""), ("CUSTOM", "Fancier")]
    operators = [Op(name, [i], [i + 1], custom=own) for i, (name, own) in enumerate(names)]
    model = Model.from_bytes(build([x] * 4, operators, [0], [3]))
    with pytest.raises(UnsupportedOperator) as refusal:
        Interpreter(model)
    for name in ("0 (Fancy", "2 (Fancier"):
        assert name in refusal.value.message
    assert "NEG" not in refusal.value.message
    assert "tflm_hil.kernels" in refusal.value.hint
    assert "docs/reference.md" in refusal.value.hint
    assert isinstance(refusal.value, HilError)


@pytest.mark.parametrize(
    ("operator", "dtype", "cause", "hint"),
    [
        ("UNIQUE", "float32", "UNIQUE, for which it has no kernel (operator 0)",
         "replace the layer that needs the operator"),
        ("LOGISTIC", "int32", "LOGISTIC on int32 (operator 0, tensor 0 't0')",
         "it runs on float32, on int16, on int8"),
        ("RELU", "string", "string tensors (tensor 0 't0' and 1 more)",
         "process text outside of the model, and give it numbers"),
    ],
)  # fmt: skip
def test_what_tflite_micro_refuses_too_is_told_first(
    operator: str, dtype: str, cause: str, hint: str
) -> None:
    x = T((3,), dtype)
    with pytest.raises(UnsupportedOperator) as refusal:
        Interpreter(Model.from_bytes(build([x] * 2, [Op(operator, [0], [1])], [0], [1]), "m"))
    assert refusal.value.message.startswith(f"tflite-micro refuses {cause}: m: ")
    assert refusal.value.hint == hint


def test_a_scale_without_zero_point_is_not_a_quantization() -> None:
    x = T((2,), "int8", 0.5, None)
    model = Model.from_bytes(build([x, x], [Op("RELU", [0], [1])], [0], [1]))
    assert model.inputs[0].quantization is None
