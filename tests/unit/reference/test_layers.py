"""Dumps of operators' outputs: their forms, and the report of the first difference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from model_builder import Op, T, build
from networks import svdf

from harness.base.errors import UsageError
from harness.model import Model
from harness.reference import Interpreter, compare_layers, table

_X = np.array([[4, -3, 2, 9]], np.int8)


def _chain() -> Interpreter:
    """RELU to int16, both halves of it, and RELU6 of the second half."""
    tensors = [
        T((1, 4), "int8", 0.5),
        T((1, 4), "int16", 0.5),
        T((1,), "int32", data=[1]),
        T((1, 2), "int16", 0.5),
        T((1, 2), "int16", 0.5),
        T((1, 2), "int16", 0.5),
    ]
    operators = [
        Op("QUANTIZE", [0], [1]),
        Op("SPLIT", [2, 1], [3, 4], ("Split", {"NumSplits": 2})),
        Op("RELU6", [4], [5]),
    ]
    return Interpreter(Model.from_bytes(build(tensors, operators, [0], [3, 5]), "chain"))


_SPLIT = {0: [4, -3, 2, 9], (1, 0): [4, -3], (1, 1): [2, 9], 2: [2, 9]}


def _dump(**changed: list[int]) -> dict:  # type: ignore[type-arg]
    rows = {**_SPLIT, **{(1, int(name[1:])): row for name, row in changed.items()}}
    return {key: np.array([row], np.int16) for key, row in rows.items()}


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        lambda array: array.astype("<i2").tobytes(),
        lambda array: bytearray(array.astype("<i2").tobytes()),
        lambda array: memoryview(array.astype("<i2").tobytes()),
    ],
)
def test_a_dump_is_arrays_or_little_endian_bytes(form: Callable[[np.ndarray], object]) -> None:
    dump = {key: form(array) for key, array in _dump().items()}
    report = compare_layers(_chain(), [_X], dump)
    assert (report.equal, bool(report), report.compared) == (True, True, 4)
    assert str(report) == "all 4 dumped layers equal"
    assert report.first is None


def test_each_output_of_an_operator_is_a_layer() -> None:
    layers = table(_chain(), [_X]).layers
    assert [(each.operator.name, each.output, each.tensor.index) for each in layers] == [
        ("QUANTIZE", 0, 1),
        ("SPLIT", 0, 3),
        ("SPLIT", 1, 4),
        ("RELU6", 0, 5),
    ]
    assert [each.expected.tolist() for each in layers[1:3]] == [[[4, -3]], [[2, 9]]]


def test_the_first_differing_output_is_at_fault_and_later_ones_are_not() -> None:
    dump = _dump(_1=[2, 8])
    dump[2] = np.array([[2, 8]], np.int16)
    report = compare_layers(_chain(), [_X], dump)
    assert [layer.differs for layer in report.layers] == [False, False, True, True]
    assert [layer.own_fault for layer in report.layers] == [None, None, True, False]
    assert str(report).startswith(
        "first diverging layer: operator 1 (SPLIT, version 1), from right inputs\nmismatched"
    )
    assert report.to_json()["first"] == 2
    assert (report.equal, bool(report)) == (False, False)


def test_a_difference_after_undumped_operators_names_them() -> None:
    dump = {2: np.array([[2, 8]], np.int16)}
    report = compare_layers(_chain(), [_X], dump)
    (line, *_) = str(report).splitlines()
    words = "operator 2 (RELU6, version 1) (not dumped, so perhaps earlier: operators 0, 1)"
    assert line == f"first diverging layer: {words}"
    assert report.layers[3].own_fault is None


def test_an_input_of_another_shape_leaves_the_fault_undecided() -> None:
    dump = {(1, 1): np.array([2, 9], np.int16), 2: np.array([[2, 8]], np.int16)}
    report = compare_layers(_chain(), [_X], dump)
    assert [layer.own_fault for layer in report.layers] == [None, None, None, None]
    assert report.layers[2].differs


def test_a_fault_of_a_stateful_model_is_undecided() -> None:
    interpreter = Interpreter(Model.from_bytes(svdf()))
    (layer,) = table(interpreter, [np.ones((1, 4), np.int8)]).layers
    interpreter.restart()
    wrong = {0: layer.expected ^ 1}
    report = compare_layers(interpreter, [np.ones((1, 4), np.int8)], wrong)
    assert [each.own_fault for each in report.layers] == [None]
    assert str(report).startswith("first diverging layer: operator 0 (SVDF, version 1)\nmismatched")


@pytest.mark.parametrize("key", [3, (1, 2), (3, 0)])
def test_a_missing_output_is_refused(key: object) -> None:
    node, output = key if isinstance(key, tuple) else (key, 0)
    with pytest.raises(UsageError, match=f"chain has no operator {node} with an output {output}"):
        compare_layers(_chain(), [_X], {key: b""})  # type: ignore[misc, dict-item]


def test_bytes_of_another_length_differ_as_bytes() -> None:
    report = compare_layers(_chain(), [_X], {0: b"\x04\x00\x01"})
    assert str(report).endswith("obtained uint8, expected int16")


@pytest.mark.parametrize(
    ("limits", "differs"),
    [({}, True), ({"tolerance": 1}, False), ({"tolerance": 0.5}, True), ({"relative": 0.2}, False),
     ({"relative": 0.1}, True), ({"tolerance": lambda _: {4: np.array([[0, 1]])}}, False),
     ({"tolerance": lambda _: {5: np.array([[0, 1]])}}, True)],
)  # fmt: skip
def test_a_tolerance_is_that_of_a_comparison(limits: dict, *, differs: bool) -> None:  # type: ignore[type-arg]
    report = compare_layers(_chain(), [_X], {(1, 1): np.array([[2, 8]], np.int16)}, **limits)
    assert report.layers[2].differs == differs


def test_a_row_is_plain_data() -> None:
    first, *_ = compare_layers(_chain(), [_X], {(1, 1): b""}).to_json()["layers"]
    assert {key: first[key] for key in first if key != "tensor"} == {
        "node": 0,
        "operator": "QUANTIZE",
        "version": 1,
        "output": 0,
        "minimum": -3,
        "maximum": 9,
        "comparison": None,
        "own_fault": None,
    }
    assert table(_chain(), [_X]).to_json() == {
        "compared": 0,
        "equal": False,
        "first": None,
        "layers": table(_chain(), [_X]).to_json()["layers"],
    }


def test_an_empty_output_has_no_smallest_and_no_largest_value() -> None:
    tensors = [T((0,), "int8", 0.5), T((0,), "int8", 0.5)]
    model = Model.from_bytes(build(tensors, [Op("RELU", [0], [1])], [0], [1]))
    (row,) = table(Interpreter(model), [np.zeros(0, np.int8)]).to_json()["layers"]
    assert (row["minimum"], row["maximum"]) == (None, None)
