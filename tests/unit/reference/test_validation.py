"""Checks of a model as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from model_builder import Op, T, build

from harness.base.errors import BadModel, HilError, UnsupportedOperator
from harness.model import Model
from harness.reference import Interpreter


def _relu(x: T, y: T, *more: T) -> bytes:
    return build([x, y, *more], [Op("RELU", [0], [1])], [0], [1])


@pytest.mark.parametrize(
    ("dtype", "zero_point"),
    [("int8", -129), ("int8", 128), ("uint8", -1), ("uint8", 256), ("int16", 1 << 15)],
)
def test_a_zero_point_is_a_value_of_its_type(dtype: str, zero_point: int) -> None:
    model = Model.from_bytes(_relu(T((2,), dtype, 0.5, zero_point), T((2,), "int8", 0.5)), "m")
    words = rf"^m: tensor 0 \('t0'\) is {dtype} with the zero point {zero_point}$"
    with pytest.raises(BadModel, match=words):
        Interpreter(model)


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -128), ("int8", 127)])
def test_the_ends_of_a_type_are_zero_points(dtype: str, zero_point: int) -> None:
    x = T((2,), dtype, 0.5, zero_point)
    (y,) = Interpreter(Model.from_bytes(_relu(x, x))).invoke([np.array([-128, 127], np.int8)])
    assert y.tolist() == [zero_point, 127]


def test_one_zero_point_of_several_is_enough_to_be_wrong() -> None:
    weights = T((2, 1), "int8", [0.5, 0.5], [0, 200], [[1], [2]])
    tensors = [T((1, 1), "int8", 0.5), weights, T((1, 2), "int8", 0.5)]
    dense = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    with pytest.raises(BadModel, match=r"tensor 1 \('t1'\) is int8 with the zero point"):
        Interpreter(Model.from_bytes(build(tensors, [dense], [0], [2])))


def test_a_zero_point_of_floats_is_ignored() -> None:
    model = Model.from_bytes(_relu(T((2,), "float32", 0.5, 200), T((2,), "float32")))
    (y,) = Interpreter(model).invoke([np.array([-1, 2], np.float32)])
    assert y.tolist() == [0, 2]


def test_values_of_four_bits_are_not_computed() -> None:
    model = Model.from_bytes(_relu(T((2,), "int4", 0.5), T((2,), "int8", 0.5)), "m")
    words = r"^m: tensor 0 \('t0'\) is a computed int4 tensor"
    with pytest.raises(UnsupportedOperator, match=words):
        Interpreter(model)


def test_a_tensor_after_a_constant_one_is_checked() -> None:
    tensors = [T((2,), "int8", 0.5, 0, [1, 2]), *[T((2,), "int4", 0.5)] * 2]
    model = Model.from_bytes(build(tensors, [Op("ADD", [0, 1], [2])], [1], [2]), "m")
    with pytest.raises(
        UnsupportedOperator, match=r"^m: tensor 1 \('t1'\) is a computed int4 tensor"
    ):
        Interpreter(model)


def test_an_input_cannot_be_a_constant() -> None:
    x = T((2,), "int8", 0.5, 0, [1, 2])
    model = Model.from_bytes(_relu(x, T((2,), "int8", 0.5)), "m")
    with pytest.raises(BadModel, match=r"^m: its input, tensor 0 \('t0'\), is a constant"):
        Interpreter(model)


def test_an_unused_tensor_is_not_checked() -> None:
    idle = T((1 << 30,), "int8", 0.5, 999)
    model = Model.from_bytes(_relu(T((2,), "int8", 0.5), T((2,), "int8", 0.5), idle))
    assert Interpreter(model).operators


def test_a_constant_may_be_an_output() -> None:
    tensors = [T((2,), "int8", 0.5), T((2,), "int8", 0.5), T((2,), "int8", 0.5, 0, [7, 8])]
    data = build(tensors, [Op("RELU", [0], [1])], [0], [2, 1])
    interpreter, x = Interpreter(Model.from_bytes(data)), np.array([-3, 3], np.int8)
    assert [y.tolist() for y in interpreter.invoke([x])] == [[7, 8], [0, 3]]
    together = interpreter.invoke_batch([np.stack([x] * 3)])
    assert [y.tolist() for y in together] == [[[7, 8]] * 3, [[0, 3]] * 3]


def test_a_name_of_any_length_is_cut_in_a_message() -> None:
    model = Model.from_bytes(_relu(T((2,), "int4", 0.5, name="n" * 99), T((2,), "int8", 0.5)))
    with pytest.raises(HilError, match=rf"tensor 0 \('{'n' * 64}'\) is") as refusal:
        Interpreter(model)
    assert "n" * 65 not in refusal.value.message


def test_an_operator_reads_outputs_of_earlier_ones() -> None:
    tensors = [T((2,), "int8", 0.5)] * 3
    chain = [Op("RELU", [0], [1]), Op("RELU6", [1], [2])]
    assert Interpreter(Model.from_bytes(build(tensors, chain, [0], [2]))).operators
    turned = Model.from_bytes(build(tensors, chain[::-1], [0], [2]), "m")
    words = r"^m: operator 0 \(RELU6, version 1\): reads tensor 1 before an operator computes"
    with pytest.raises(BadModel, match=words):
        Interpreter(turned)


def test_an_output_has_a_name_in_the_message_that_nothing_computes_it() -> None:
    model = Model.from_bytes(_relu(T((2,), "int8", 0.5), T((2,), "int8", 0.5), T((2,), "int8")))
    graph = replace(model.subgraphs[0], outputs=(2,))
    with pytest.raises(BadModel, match=r"no operator computes its output 't2'$"):
        Interpreter(replace(model, subgraphs=(graph,)))
