"""The parts of a model are immutable values with a readable text."""

from __future__ import annotations

import numpy as np
import pytest
from data_classes import data_classes
from model_builder import Graph, Op, T, build_graphs

import harness.model
from harness.model import Model, Operator, Quantization, Tensor


@pytest.mark.parametrize("found", data_classes(harness.model), ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen


def two_graphs() -> bytes:
    weights = np.arange(6, dtype=np.int16).reshape(2, 3)
    main = Graph(
        [T((1, 3), "int8", 0.5, 3, name="in"), T((2, 3), "int16", data=weights), T((1, 2))],
        [Op("FULLY_CONNECTED", [0, 1], [2], version=4)],
        [0],
        [2],
    )
    other = Graph(
        [T((7,), name="x")] * 2,
        [Op("NEG", [1], [0]), Op("", [1], [0], custom="Atan")],
        [1],
        [0],
    )
    return build_graphs([main, other], "a test")


def test_a_model_gives_its_main_subgraph() -> None:
    model = Model.from_bytes(two_graphs(), "two")
    main, other = model.subgraphs
    assert (model.operators, model.tensors) == (main.operators, main.tensors)
    assert [tensor.index for tensor in model.inputs] == [0]
    assert [tensor.index for tensor in model.outputs] == [2]
    assert [operator.name for operator in other.operators] == ["NEG", "Atan"]


def test_the_names_of_operators_are_those_of_all_subgraphs() -> None:
    model = Model.from_bytes(two_graphs())
    assert model.operator_names == ("FULLY_CONNECTED", "NEG", "Atan")
    assert model.custom_operator_names == ("Atan",)


def test_a_model_without_a_name_is_called_model() -> None:
    assert Model.from_bytes(two_graphs()).name == "model"


def test_a_model_is_shown_without_its_bytes() -> None:
    shown = repr(Model.from_bytes(two_graphs(), "two"))
    assert shown == "Model(name='two', version=3, description='a test')"


def test_a_tensor_is_shown_without_its_bytes() -> None:
    assert "data" not in repr(Model.from_bytes(two_graphs()).tensors[1])


def test_a_tensor_with_defaults_is_computed_and_not_a_variable() -> None:
    tensor = Tensor(0, "x", (2, 3), "int8")
    assert (tensor.quantization, tensor.data, tensor.variable) == (None, None, False)
    assert tensor.elements == 6


def test_a_quantization_with_defaults_lies_along_the_first_axis() -> None:
    assert Quantization((0.5,), (3,)).axis == 0


@pytest.mark.parametrize(
    ("name", "custom", "shown"),
    [
        ("ADD", False, "operator 3 (ADD, version 2)"),
        ("Atan", True, "operator 3 (Atan, custom operator, version 2)"),
        ("a\x1b", True, "operator 3 ('a\\x1b', custom operator, version 2)"),
        ("x" * 70, True, f"operator 3 ({'x' * 64}, custom operator, version 2)"),
        ("\0" * 70, False, f"operator 3 ({chr(0) * 64!a}, version 2)"),
    ],
)
def test_an_operator_in_words(name: str, custom: bool, shown: str) -> None:
    assert str(Operator(3, name, custom, 2, (), ())) == shown
