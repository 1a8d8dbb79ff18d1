"""Recorded outputs are right to the bit, or within exactly the tolerance that the case gives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from device import Told, builtin_run, lines, parts, set_up, told

from harness.base import paths
from harness.case.case import Case
from harness.case.outputs import OutputCheck, check_outputs
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.float_error import allowed_errors, allowed_in_batch
from harness.uart import Console

INT8 = Model.from_file(paths.models() / "hello_world_int8.tflite")
FLOAT = Model.from_file(paths.models() / "hello_world_float32.tflite")
ROWS = [np.array([[value]], np.int8) for value in (-128, 3, 127)]
CASE = Case("c", elf=Path("x"))


def right(compared: int, mismatches: int, inferences: int) -> OutputCheck:
    """The check of outputs that all equal the reference's."""
    name = "the NumPy reference of hello_world_int8.tflite"
    return OutputCheck(compared, mismatches, inferences, compared_with=name)


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


def test_equal_outputs_are_counted_without_a_problem():
    assert check(run(X, Y)) == right(3, 0, 3)


def test_inferences_beyond_the_hosts_inputs_are_held_against_nothing():
    known = [[X[0]]]
    assert check(run(X, Y), known=known).compared == 1


def test_the_reference_computes_the_same_inputs_once_for_each_arithmetic(monkeypatch):
    computed = []
    compute = Interpreter.invoke_batch

    def spy(interpreter: Interpreter, inputs, runs=None):
        computed.append(interpreter.arithmetic)
        return compute(interpreter, inputs, runs)

    monkeypatch.setattr(Interpreter, "invoke_batch", spy)
    inputs, outputs = [b"\x2a"], [b"\x00"]
    first = check(run(inputs, outputs), case=Case("a", elf=Path("x"), tolerance=255.0))
    again = check(run(inputs, outputs), case=Case("b", elf=Path("y"), tolerance=255.0))
    other = Case("c", elf=Path("x"), tolerance=255.0, rounding="single")
    check(run(inputs, outputs), case=other)
    assert first == again
    assert [one.rounding for one in computed] == ["double", "single"]


def test_integers_have_no_default_tolerance():
    told = check(run(X, [Y[0], off_by(1)[1], Y[2]]))
    assert (told.compared, told.mismatches, told.inferences) == (3, 1, 3)
    assert told.problem == (
        "1 of 3 output values differ: Identity[0, 0] of inference 1 is -11, expected -10"
    )
    assert told.mismatch is not None
    assert told.mismatch.rows == (1,)
    assert "[inference, element ...]: " in told.details


@pytest.mark.parametrize(("tolerance", "wrong"), [(0.0, 3), (1.0, 3), (2.0, 0), (1e9, 0)])
def test_a_case_may_allow_some_steps_and_no_more(tolerance, wrong):
    case = Case("c", elf=Path("x"), tolerance=tolerance)
    assert check(run(X, off_by(2)), case=case).mismatches == wrong


def as_floats(bounds: float) -> tuple[list[bytes], list[bytes]]:
    inputs = np.linspace(0, 6, 5, dtype=np.float32).reshape(5, 1, 1)
    interpreter = Interpreter(FLOAT)
    outputs = np.array(interpreter.invoke_batch([inputs])[0])
    allowed = allowed_in_batch(interpreter, [inputs], 0, np.ones(5, bool))
    moved = (outputs + bounds * allowed).astype(np.float32)
    return [one.tobytes() for one in inputs], [one.tobytes() for one in moved]


@pytest.mark.parametrize(("bounds", "wrong"), [(0, 0), (0.8, 0), (1.3, 5), (-0.8, 0), (-1.3, 5)])
def test_floats_may_differ_by_the_order_of_their_sums(bounds, wrong):
    assert check(run(*as_floats(bounds), FLOAT), FLOAT).mismatches == wrong


def test_one_value_of_many_that_differs_has_the_bound_of_its_inference():
    model = Model.from_file(paths.models() / "atan_float32.tflite")
    rows = np.linspace(-3, 3, 2 * model.inputs[0].elements, dtype=np.float32)
    rows = rows.reshape(2, *model.inputs[0].shape)
    outputs = np.array(Interpreter(model).invoke_batch([rows])[0])
    outputs.reshape(2, -1)[1, -1] += 1e-3
    found = check(
        run([one.tobytes() for one in rows], [one.tobytes() for one in outputs], model), model
    )
    assert (found.compared, found.mismatches) == (outputs.size, 1)


def test_a_difference_of_floats_is_shown_with_the_digits_that_differ_and_the_bound():
    details = check(run(*as_floats(1.3), FLOAT), FLOAT).details
    (obtained, expected), *_ = re.findall(r"obtained (\S+), expected (\S+), \S+ allowed", details)
    assert obtained != expected


def test_a_case_with_a_tolerance_needs_no_bound_of_floats():
    exact = Case("c", elf=Path("x"), tolerance=0.0)
    assert check(run(*as_floats(0.8), FLOAT), FLOAT, exact).mismatches == 5


def test_the_hosts_inputs_are_the_truth_whatever_the_image_prints():
    lied = run([b"\0", b"\0", b"\0"], [Y[0]] * 3)
    known = [[x] for x in X]
    assert check(lied, known=known).mismatches > 0
    assert check(run([b"\0"] * 3, Y), known=known) == right(3, 0, 3)


def test_outputs_without_known_inputs_do_not_pass():
    told = check(run(X[:1], Y))
    assert (told.compared, told.inferences) == (1, 1)
    assert told.problem.startswith("2 inferences (the first: 1) gave outputs that cannot be comp")


def test_outputs_after_the_last_known_input_do_not_pass():
    told = check(run([], Y), known=[[X[0]], [X[1]]])
    assert (told.compared, told.problem[:26]) == (2, "1 inferences (the first: 2")


def test_an_output_of_another_size_does_not_pass():
    told = check(run(X, [Y[0], Y[1] + b"\0", Y[2]]))
    assert (told.compared, told.problem[:26]) == (2, "1 inferences (the first: 1")


def test_a_run_without_outputs_is_a_problem():
    for records in ([], set_up(INT8)):
        told = check(records)
        assert told.problem == "no inference gave all of its inputs and outputs"
        assert not told.compared


def test_outputs_of_every_boot_are_compared():
    told = check([*run(X, off_by(1)), *run(X, Y)])
    assert (told.compared, told.mismatches, told.inferences) == (6, 3, 6)


def test_differences_and_gaps_are_both_reported():
    told = check(run(X[:2], off_by(1)))
    assert told.problem.startswith(
        "2 of 2 output values differ: Identity[0, 0] of inference 0 is -1, expected 0; "
        "1 inferences (the first: 2)"
    )


def test_a_case_without_model_or_reference_compares_nothing():
    neither = check(run(X, Y), case=Case("c", reference="none"))
    assert neither.problem.startswith("the case has neither")
    console = Console()
    assert check_outputs(console, CASE, None).problem.startswith("no model is given")


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
    assert check(layered(0)) == right(3 + 16, 0, 3)
    told = check(layered(1))
    assert (told.compared, told.mismatches) == (19, 1)
    assert "layer 0 (FULLY_CONNECTED) of inference 1 " in told.details


def test_a_layer_that_was_not_dumped_hides_none_behind_it():
    interpreter = Interpreter.from_model(INT8)
    records = builtin_run(INT8, ROWS)
    ends = [n for n, one in enumerate(records) if one[0] == "inference"]
    for number, node in ((2, 1), (1, 0)):  # from the last one on, so that places stay
        interpreter.invoke([ROWS[number]])
        operator = INT8.operators[node]
        data = interpreter.tensors[operator.outputs[0]].tobytes()
        dump = parts("layer", number, 0, data, node=node, operator=operator.name)
        records[ends[number] + 1 : ends[number] + 1] = dump
    assert check(records) == right(3 + 16 + 16, 0, 3)


def float_layers(bounds: float, tolerance: float | None) -> OutputCheck:
    """A run that dumps the last operator's output, so many times the allowed error away."""
    inputs, outputs = as_floats(0)
    interpreter = Interpreter(FLOAT)
    interpreter.invoke([np.frombuffer(inputs[0], np.float32).reshape(1, 1)])
    operator = FLOAT.operators[-1]
    at = operator.outputs[0]
    moved = interpreter.tensors[at] + bounds * allowed_errors(interpreter)[at]
    records = run(inputs, outputs, FLOAT)
    place = next(n for n, one in enumerate(records) if one[0] == "inference")
    data = moved.astype(np.float32).tobytes()
    dump = parts("layer", 0, 0, data, node=operator.index, operator=operator.name)
    records[place:place] = dump
    return check(records, FLOAT, Case("c", elf=Path("x"), tolerance=tolerance))


@pytest.mark.parametrize(
    ("bounds", "tolerance", "wrong"), [(0.8, None, 0), (1.3, None, 1), (0.8, 0.0, 1), (9, 1.0, 0)]
)
def test_a_dumped_layer_of_floats_may_differ_as_an_output_may(bounds, tolerance, wrong):
    told = float_layers(bounds, tolerance)
    assert (told.compared, told.mismatches) == (6, wrong)


@pytest.mark.parametrize(
    "fields", [{"data": bytes(15)}, {"index": 1}, {"index": 2}, {"node": len(INT8.operators)}]
)
def test_a_dumped_layer_that_the_model_does_not_have_is_compared_with_nothing(fields):
    """That it came is a finding of the records' own check."""
    chosen = {"data": bytes(16), "index": 0, "node": 0, **fields}
    data, index, node = (chosen[name] for name in ("data", "index", "node"))
    records = builtin_run(INT8, ROWS)
    at = next(n for n, one in enumerate(records) if one[0] == "inference")
    records[at:at] = parts("layer", 0, index, data, node=node, operator="FULLY_CONNECTED")
    assert check(records) == right(3, 0, 3)


def test_a_check_without_results_counts_zero():
    assert OutputCheck() == OutputCheck(0, 0, 0, "", "", "", "", ())
