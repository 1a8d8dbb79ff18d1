"""Tensors printed as plain text, compared with the model (`inputs` and `outputs` of a case)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.base import paths
from harness.case.case import Case
from harness.case.observe import scrapers_of
from harness.case.outputs import check_outputs
from harness.model import Model
from harness.reference import Interpreter, dequantize, quantize
from harness.uart import Console
from harness.uart.lines import last_digit
from harness.uart.scrapers import PrintedTensors, TensorRegex

SINE = paths.models() / "hello_world_int8.tflite"
SINE_FLOAT = paths.models() / "hello_world_float32.tflite"
DIGITS = paths.models() / "digits_int8.tflite"
X = np.linspace(0, 6.2, 40)


def regexes(form: str, *texts: str) -> tuple[TensorRegex, ...]:
    return tuple(TensorRegex(text, form) for text in texts)


REAL = PrintedTensors(regexes("real", r"y: (\S+)"), regexes("real", r"x: (\S+)"))
STEPS = PrintedTensors(regexes("quantized", r"y: (\S+)"), regexes("quantized", r"x: (\S+)"))


def sine(truncate: bool = False, model: Path = SINE) -> tuple[np.ndarray, np.ndarray]:
    """The quantized inputs for X, and the model's outputs."""
    interpreter = Interpreter.from_file(model)
    (source,) = interpreter.inputs
    x = np.float32(X)
    if source.scale:
        x = quantize(X, source.scale, source.zero_point, source.dtype, truncate=truncate)
    (y,) = interpreter.invoke_batch([x.reshape(-1, *source.shape)])
    return x.ravel(), y.ravel()


def real(y: np.ndarray) -> np.ndarray:
    (sink,) = Interpreter.from_file(SINE).outputs
    return dequantize(y, sink.scale, sink.zero_point)


def text(xs, ys, form: str = "{:.6f}") -> str:
    rows = zip(xs, ys, strict=True)
    return "".join(f"x: {form.format(x)}\ny: {form.format(y)}\n" for x, y in rows)


def check(console: str, printed: PrintedTensors, model: Path = SINE, known=(), **case):
    inputs = {"inputs": printed.inputs} if printed.inputs else {}
    most = {"inferences": printed.most} if printed.most else {}
    given = {"outputs": printed.outputs, **inputs, **most, **case}
    case = Case("c", elf=Path("x"), model=model, **given)
    seen = Console(scrapers_of(case))
    seen.feed(console.encode())
    seen.finish()
    found = check_outputs(seen, case, Model.from_file(model), known)
    return found, seen.findings


def test_quantized_numbers_are_equal():
    found, findings = check(text(*sine(), "{}"), STEPS)
    assert (found.compared, found.mismatches, found.inferences) == (40, 0, 40)
    assert (found.problem, findings) == ("", [])
    assert found.compared_with == "the NumPy reference of hello_world_int8.tflite"


def test_a_quantized_number_that_is_one_off_differs():
    x, y = sine()
    y[7] += 1
    found, _ = check(text(x, y, "{}"), STEPS)
    assert found.problem == (
        "1 of 40 printed values are not what the model computes: "
        f"Identity[0, 0] of inference 7 is {y[7]}, expected {y[7] - 1}"
    )
    assert f"[7, 0, 0]: obtained {y[7]}, expected {y[7] - 1}" in found.details
    assert "inference 7: line 16" in found.details


@pytest.mark.parametrize("truncate", [False, True])
def test_real_numbers_are_equal_to_their_last_digit(truncate):
    _, y = sine(truncate)
    found, _ = check(text(X, real(y)), REAL)
    assert (found.compared, found.problem) == (40, "")
    way = "truncation" if truncate else "rounding"
    assert found.details == f"inputs quantized by {way}"


def test_inputs_quantized_in_turns_in_two_ways_differ():
    y = np.where(np.arange(40) % 2, sine(truncate=False)[1], sine(truncate=True)[1])
    assert check(text(X, real(y)), REAL)[0].mismatches


def test_a_real_output_that_is_one_step_off_differs():
    _, y = sine()
    y[7] += 1
    found, _ = check(text(X, real(y)), REAL)
    assert found.mismatches == 1


@pytest.mark.parametrize("digits", [2, 3])
def test_few_digits_are_compared_as_far_as_they_go(digits):
    x, y = sine()
    (source,) = Interpreter.from_file(SINE).inputs
    exact = dequantize(x, source.scale, source.zero_point)
    rows = (f"x: {a:.6f} y: {b:.{digits}f}\n" for a, b in zip(exact, real(y), strict=True))
    assert check("".join(rows), REAL)[0].problem == ""


def test_an_input_near_a_step_may_have_been_on_either_side():
    interpreter = Interpreter.from_file(SINE)
    (source,), (sink,) = interpreter.inputs, interpreter.outputs
    edge = 2.5 * source.scale
    answers = set()
    for side in (-2e-6, 2e-6):
        q = quantize([edge + side], source.scale, source.zero_point)
        (y,) = interpreter.invoke([q.reshape(source.shape)])
        (value,) = dequantize(y.ravel(), sink.scale, sink.zero_point)
        answers.add(float(value))
        found, _ = check(f"x: {edge:.5f}\ny: {value:.6f}\n", REAL)
        assert found.problem == ""
    assert len(answers) == 2


def test_float_models_are_compared_within_printed_digits():
    x, y = sine(model=SINE_FLOAT)
    found, _ = check(text(x, y), REAL, SINE_FLOAT)
    assert (found.compared, found.problem) == (40, "")
    y[3] += 1e-4
    found, _ = check(text(x, y), REAL, SINE_FLOAT)
    assert found.mismatches == 1


def test_a_tolerance_is_in_the_units_that_are_printed():
    x, y = sine()
    assert not check(text(x, y + 2, "{}"), STEPS, tolerance=2)[0].mismatches
    assert check(text(x, y + 3, "{}"), STEPS, tolerance=2)[0].mismatches
    assert not check(text(X, real(y) + 0.009), REAL, tolerance=0.01)[0].mismatches
    assert check(text(X, real(y) + 0.02), REAL, tolerance=0.01)[0].mismatches


def digits() -> tuple[np.ndarray, np.ndarray]:
    interpreter = Interpreter.from_file(DIGITS)
    (source,) = interpreter.inputs
    x = np.random.default_rng(1).integers(-128, 128, (3, *source.shape)).astype(np.int8)
    return x, interpreter.invoke_batch([x])[0]


def rows(x: np.ndarray) -> list[list[bytes]]:
    return [[row.tobytes()] for row in x]


VECTOR = PrintedTensors(regexes("quantized", r"scores: (.*)"))
ELEMENTS = PrintedTensors(regexes("quantized", r"score\[(?P<index>\d+)\] = (\S+)"))


def test_one_group_may_hold_a_whole_tensor():
    x, y = digits()
    lines = "".join(f"scores: [{', '.join(map(str, row.ravel()))}]\n" for row in y)
    found, _ = check(lines, VECTOR, DIGITS, rows(x))
    assert (found.compared, found.inferences, found.problem) == (y.size, 3, "")


def listed(y: np.ndarray) -> list[str]:
    return [f"score[{i}] = {v}" for row in y for i, v in enumerate(row.ravel())]


def test_elements_may_come_line_by_line_with_their_index():
    x, y = digits()
    found, _ = check("\n".join(listed(y)), ELEMENTS, DIGITS, rows(x))
    assert (found.compared, found.problem) == (y.size, "")


@pytest.mark.parametrize("lost", [0, 4, 9, 10, 29])
def test_a_lost_element_makes_its_inference_incomplete_and_shifts_none(lost):
    x, y = digits()
    lines = listed(y)
    del lines[lost]
    found, _ = check("\n".join(lines), ELEMENTS, DIGITS, rows(x))
    assert "came incomplete or out of order" in found.problem


def test_two_elements_in_the_wrong_order_are_not_an_inference():
    x, y = digits()
    lines = listed(y)
    lines[3], lines[4] = lines[4], lines[3]
    found, _ = check("\n".join(lines), ELEMENTS, DIGITS, rows(x))
    assert "element 4 of output 0 came, 3 is the next" in found.details


@pytest.mark.parametrize("lost", range(1, 8))
def test_a_lost_line_makes_its_inference_incomplete_and_shifts_none(lost):
    lines = text(*sine(), "{}").splitlines(keepends=True)
    del lines[lost]
    found, _ = check("".join(lines), STEPS)
    assert found.problem.startswith("1 inference came incomplete or out of order")
    assert (found.compared, found.mismatches) == (39, 0)


def test_an_output_that_comes_twice_is_not_an_inference():
    lines = text(*sine(), "{}").splitlines(keepends=True)
    found, _ = check("".join([*lines[:4], lines[3], *lines[4:]]), STEPS)
    assert "output 0 came before input 0" in found.details


ATAN = paths.models() / "atan_float32.tflite"


def atan(numbers: int, per_line: int) -> str:
    """Two inferences of a model with eight float32: ``numbers`` of output, some on a line."""
    rows = []
    for first in (0.0, -1.0):
        rows.append("x: " + " ".join(f"{first + n / 4:.6f}" for n in range(8)))
        y = [f"{np.arctan(1 + first + n / 4):.6f}" for n in range(8)] + ["1.25"] * (numbers - 8)
        rows += ["y: " + " ".join(y[at : at + per_line]) for at in range(0, numbers, per_line)]
    return "\n".join(rows)


@pytest.mark.parametrize("per_line", [1, 4, 40])
@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        (8, ""),
        (32, "2 inferences came with 32 numbers for output 0, which has 8: "
             "its bytes, not its elements (4 B each)"),
        (31, "2 inferences came with 31 numbers for output 0, which has 8"),
    ],
)  # fmt: skip
def test_more_numbers_than_the_tensor_has(numbers, per_line, problem):
    printed = PrintedTensors(regexes("real", "y: (.*)"), regexes("real", "x: (.*)"))
    found, _ = check(atan(numbers, per_line), printed, ATAN)
    assert found.problem == problem


def test_a_wrong_order_is_told_with_what_came():
    lines = text(*sine(), "{}").splitlines(keepends=True)
    del lines[4]
    found, _ = check("".join(lines), STEPS)
    assert found.problem == (
        "1 inference came incomplete or out of order: line 5: output 0 came before input 0"
    )


def test_an_inference_cut_short_fails_unless_the_image_never_ends():
    lines = text(*sine(), "{}") + "x: 3\n"
    assert "no more of output 0 came" in check(lines, STEPS)[0].details
    assert check(lines, STEPS, end="never")[0].problem == ""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("y: ", "output 0: there is no number"),
        ("y: nan", "output 0: 'nan' is not a number"),
        ("y: 0.5", '0.5 is not of type int8; does the image print real values (form = "real")?'),
        ("y: 128", "128 is not of type int8"),
    ],
)
def test_text_that_is_no_number_of_the_tensor_is_a_finding(line, why):
    printed = PrintedTensors(regexes("quantized", "y:(.*)"), regexes("quantized", "x: (.*)"))
    _, (finding,) = check(f"x: 1\n{line}\n", printed)
    assert why in finding.message


def test_a_line_with_more_numbers_than_elements_is_not_an_inference():
    x, y = digits()
    line = f"scores: {' '.join(map(str, y[0].ravel()))} 7\n"
    found, _ = check(line, VECTOR, DIGITS, rows(x[:1]))
    assert "11 numbers for output 0, which has 10" in found.details


@pytest.mark.parametrize("came", [2, 3])
def test_as_many_inferences_as_inputs_must_come(came):
    x, y = digits()
    console = "\n".join(listed(y[:came]))
    found, _ = check(console, ELEMENTS, DIGITS, rows(x))
    assert (found.problem == "") == (came == 3)
    more, _ = check("\n".join(listed(y)), ELEMENTS, DIGITS, rows(x[:came]))
    assert (more.problem == "") == (came == 3)


def test_an_image_that_never_ends_begins_again_with_the_first_input():
    x, y = digits()
    console = "\n".join(listed(y) * 2 + listed(y)[:10])
    found, _ = check(console, ELEMENTS, DIGITS, rows(x), end="never")
    assert (found.inferences, found.problem) == (7, "")


def test_nothing_read_is_a_problem():
    found, _ = check("hello\n", STEPS)
    assert found.problem == "no line matches the regexes of input 0, output 0"
    assert not found.compared


def test_inputs_that_never_change_are_named():
    x, y = sine()
    found, _ = check(f"x: {x[3]}\ny: {y[3]}\n" * 5, STEPS)
    assert found.details == "all inferences had the same input"


@pytest.mark.parametrize(
    ("word", "unit"),
    [
        ("7", 1.0),
        ("-0.25", 0.01),
        ("+1.50e-3", 1e-5),
        ("1.2566366*2^-2", 0.25e-6),
        ("1.0*2^-127", 2.0**-126),
        ("1e9999", 1e300),
        ("0x1F", 1.0),
        ("x", 0.0),
    ],
)
def test_a_printed_number_is_known_to_its_last_digit(word, unit):
    assert last_digit(word) == pytest.approx(unit)


def test_a_model_of_another_size_is_told():
    found = check_hello_world("x_value: 0.000000, y_value: 0.000000\n", DIGITS)
    assert found.problem.endswith("1 number printed, it has 64")


def check_hello_world(console: str, model: Path):
    case = Case("c", elf=Path("x"), model=model, scraper="hello_world")
    seen = Console(scrapers_of(case))
    seen.feed(console.encode())
    seen.finish()
    return check_outputs(seen, case, Model.from_file(model))


def test_more_inferences_than_expected_fail_unless_the_image_never_ends():
    most = PrintedTensors(STEPS.outputs, STEPS.inputs, most=40)
    console = text(*sine(), "{}")
    assert check(console, most)[0].problem == ""
    assert check(console * 2, most)[0].problem == "80 inferences came, 40 are expected"
    assert check(console * 2, most, end="never")[0].problem == ""
