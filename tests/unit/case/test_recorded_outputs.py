"""Recorded outputs are right to the bit, or within exactly the tolerance that the case gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from device import Told, builtin_run, lines, parts, set_up, told

from harness import paths
from harness.case.outputs import FLOAT_UNITS, OutputCheck, check_outputs, float_bound
from harness.case.spec import Case
from harness.model import Model
from harness.reference import Interpreter
from harness.uart import Console

INT8 = Model.from_file(paths.models() / "hello_world_int8.tflite")
FLOAT = Model.from_file(paths.models() / "hello_world_float32.tflite")
ROWS = [np.array([[value]], np.int8) for value in (-128, 3, 127)]
CASE = Case("c", elf=Path("x"))


def check(records: list[Told], model: Model = INT8, case: Case = CASE, known=()) -> OutputCheck:
    console = Console()
    console.feed(lines(records))
    console.finish()
    return check_outputs(console, case, model, known)


def run(inputs: list[bytes], outputs: list[bytes], model: Model = INT8) -> list[Told]:
    records = set_up(model)
    for number, output in enumerate(outputs):
        if number < len(inputs):
            records += parts("input", number, 0, inputs[number])
        records += parts("output", number, 0, output)
        records.append(told("inference", index=number))
    return [*records, told("end", inferences=len(outputs))]


X = [row.tobytes() for row in ROWS]
Y = [out.tobytes() for out in np.array(Interpreter.from_model(INT8).invoke_batch([ROWS])[0])]


def off_by(steps: int) -> list[bytes]:
    values = [np.frombuffer(y, np.int8).astype(int) for y in Y]
    return [np.clip(value - steps, -128, 127).astype(np.int8).tobytes() for value in values]


def test_right_outputs_are_counted_and_nothing_is_said():
    assert check(run(X, Y)) == OutputCheck(3, 0, 3)


def test_integers_have_no_tolerance_of_their_own():
    told = check(run(X, [Y[0], off_by(1)[1], Y[2]]))
    assert (told.compared, told.mismatches, told.inferences) == (3, 1, 3)
    assert told.problem == "1 of 3 output values differ"
    assert "[inference, element ...]: " in told.details


@pytest.mark.parametrize(("tolerance", "wrong"), [(0.0, 3), (1.0, 3), (2.0, 0), (1e9, 0)])
def test_a_case_may_allow_some_steps_and_no_more(tolerance, wrong):
    case = Case("c", elf=Path("x"), tolerance=tolerance)
    assert check(run(X, off_by(2)), case=case).mismatches == wrong


def as_floats(units: float) -> tuple[list[bytes], list[bytes]]:
    inputs = np.linspace(0, 6, 5, dtype=np.float32).reshape(5, 1, 1)
    outputs = np.array(Interpreter.from_model(FLOAT).invoke_batch([inputs])[0])
    bound = float_bound(FLOAT, outputs)
    assert bound is not None
    moved = (outputs + np.float32(bound * units)).astype(np.float32)
    return [one.tobytes() for one in inputs], [one.tobytes() for one in moved]


@pytest.mark.parametrize(("units", "wrong"), [(0, 0), (0.9, 0), (1.2, 5), (-0.9, 0), (-1.2, 5)])
def test_floats_may_differ_by_what_the_order_of_their_sums_explains(units, wrong):
    assert check(run(*as_floats(units), FLOAT), FLOAT).mismatches == wrong


def test_the_bound_of_floats_is_in_units_of_the_largest_output():
    small, large = np.array([0.5], np.float32), np.array([-8.0, 1.0], np.float32)
    assert float_bound(FLOAT, small) == FLOAT_UNITS * 2.0**-23
    assert float_bound(FLOAT, large) == FLOAT_UNITS * 2.0**-23 * 8
    assert FLOAT_UNITS == 32
    assert float_bound(INT8, small) is None
    assert float_bound(FLOAT, np.array([1], np.int8)) is None


def test_a_case_with_a_tolerance_needs_no_bound_of_floats():
    exact = Case("c", elf=Path("x"), tolerance=0.0)
    assert check(run(*as_floats(0.9), FLOAT), FLOAT, exact).mismatches == 5


def test_the_hosts_inputs_are_the_truth_whatever_the_image_prints():
    lied = run([b"\0", b"\0", b"\0"], [Y[0]] * 3)
    known = [[x] for x in X]
    assert check(lied, known=known).mismatches > 0
    assert check(run([b"\0"] * 3, Y), known=known) == OutputCheck(3, 0, 3)


def test_outputs_whose_inputs_nobody_tells_are_no_pass():
    told = check(run(X[:1], Y))
    assert (told.compared, told.inferences) == (1, 1)
    assert told.problem.startswith("2 inferences (the first: 1) gave outputs that cannot be comp")


def test_outputs_behind_the_last_known_input_are_no_pass():
    told = check(run([], Y), known=[[X[0]], [X[1]]])
    assert (told.compared, told.problem[:26]) == (2, "1 inferences (the first: 2")


def test_an_output_of_another_size_is_no_pass():
    told = check(run(X, [Y[0], Y[1] + b"\0", Y[2]]))
    assert (told.compared, told.problem[:26]) == (2, "1 inferences (the first: 1")


def test_a_run_without_outputs_says_so():
    for records in ([], set_up(INT8)):
        told = check(records)
        assert told.problem == "no inference gave all of its inputs and outputs"
        assert not told.compared


def test_outputs_of_every_boot_are_compared():
    told = check([*run(X, off_by(1)), *run(X, Y)])
    assert (told.compared, told.mismatches, told.inferences) == (6, 3, 6)


def test_differences_and_gaps_are_both_told():
    told = check(run(X[:2], off_by(1)))
    assert told.problem.startswith("2 of 2 output values differ; 1 inferences (the first: 2)")


def test_a_case_without_model_or_reference_compares_nothing():
    assert check(run(X, Y), case=Case("c", reference=False)).problem.startswith("the case asks for")
    console = Console()
    assert check_outputs(console, CASE, None).problem.startswith("no model is given")
    assert check_outputs(console, CASE, None).hint == "--model, or `model` in a case file"


def layered(change: int) -> list[Told]:
    """A run that dumps the first operator's output of its second inference."""
    interpreter = Interpreter.from_model(INT8)
    interpreter.invoke([ROWS[1]])
    data = bytearray(interpreter.tensors[INT8.operators[0].outputs[0]].tobytes())
    data[3] ^= change
    records = builtin_run(INT8, ROWS)
    at = [n for n, one in enumerate(records) if one[0] == "inference"][1]
    dump = parts("layer", 1, 0, bytes(data), node=0, operator="FULLY_CONNECTED")
    return [*records[: at + 1], *dump, *records[at + 1 :]]


def test_a_dumped_layer_is_held_against_the_reference():
    assert check(layered(0)) == OutputCheck(3 + 16, 0, 3)
    told = check(layered(1))
    assert (told.compared, told.mismatches) == (19, 1)
    assert "layer 0 (FULLY_CONNECTED) of inference 1 " in told.details
