"""Outputs of inputs that the host sent are compared with the reference without an echo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_builder import Op, T, build, constant

from harness.base import paths
from harness.base.arithmetic import Arithmetic
from harness.case.case import Case
from harness.case.outputs import check_outputs
from harness.model import Model
from harness.reference import Interpreter
from harness.uart import Console, encode

ROWS = np.array([[[-128]], [[0]], [[127]]], np.int8)


@pytest.fixture
def model() -> Model:
    return Model.from_file(paths.models() / "hello_world_int8.tflite")


def console(outputs: np.ndarray) -> Console:
    seen = Console()
    for number, row in enumerate(outputs):
        data = row.tobytes()
        fields = {"inference": number, "index": 0, "offset": 0, "total": len(data)}
        seen.feed(encode(number, "output", {**fields, "hex": data.hex()}))
    return seen


def outputs_of(model: Model) -> np.ndarray:
    return np.array(Interpreter.from_model(model).invoke_batch([ROWS])[0])


def test_right_outputs_of_fed_inputs_are_compared(model: Model) -> None:
    fed = [[row.tobytes()] for row in ROWS]
    check = check_outputs(console(outputs_of(model)), Case("c", elf=Path("x")), model, fed)
    assert (check.compared, check.mismatches, check.inferences) == (3, 0, 3)


def test_a_wrong_output_of_a_fed_input_is_found(model: Model) -> None:
    outputs = outputs_of(model)
    outputs[1] += 1
    fed = [[row.tobytes()] for row in ROWS]
    check = check_outputs(console(outputs), Case("c", elf=Path("x")), model, fed)
    assert (check.compared, check.mismatches) == (3, 1)


def test_an_output_without_elements_has_no_record() -> None:
    tensors = [T((2,), "int8", 1.0), *map(constant, ([1], [1], [1])), T((0,), "int8", 1.0)]
    tensors.append(T((2,), "int8", 1.0))
    none = Op("STRIDED_SLICE", [0, 1, 2, 3], [4], ("StridedSlice", {}))
    model = Model.from_bytes(build(tensors, [none, Op("RELU", [0], [5])], [0], [5, 4]))
    rows = np.array([[3, -4]], np.int8)
    seen = console(np.maximum(rows, 0))
    check = check_outputs(seen, Case("c", elf=Path("x")), model, [[rows[0].tobytes()]])
    assert (check.compared, check.mismatches, check.inferences) == (2, 0, 1)


def test_outputs_without_any_inputs_prove_nothing(model: Model) -> None:
    check = check_outputs(console(outputs_of(model)), Case("c", elf=Path("x")), model)
    assert check.compared == 0
    assert check.problem


def test_wrong_outputs_that_another_rounding_explains_are_explained() -> None:
    residual = Model.from_file(paths.models() / "residual_int8.tflite")
    rng = np.random.default_rng(7)
    rows = rng.integers(-128, 128, (40, *residual.inputs[0].shape)).astype(np.int8)
    outputs = np.array(
        Interpreter.from_model(residual, Arithmetic(rounding="single")).invoke_batch([rows])[0]
    )
    fed = [[row.tobytes()] for row in rows]
    check = check_outputs(console(outputs), Case("c", elf=Path("x")), residual, fed)
    assert check.mismatches
    assert "all equal under single rounding" in check.details
    agreed = check_outputs(
        console(outputs),
        Case("c", elf=Path("x"), rounding="single"),
        residual,
        fed,
    )
    assert agreed.mismatches == 0


def test_the_precision_of_multipliers_is_the_cases(model: Model) -> None:
    rows = np.arange(-128, 128, dtype=np.int16).astype(np.int8).reshape(256, 1, 1)
    old = np.array(
        Interpreter.from_model(model, Arithmetic(multipliers="single")).invoke_batch([rows])[0]
    )
    fed = [[row.tobytes()] for row in rows]
    check = check_outputs(
        console(old),
        Case("c", elf=Path("x"), multipliers="single"),
        model,
        fed,
    )
    assert (check.compared, check.mismatches) == (256, 0)
