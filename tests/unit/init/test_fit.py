"""The search for a model's tensors in console output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.base import paths
from harness.case.init.fit import Fit, find_fit
from harness.case.init.shapes import shapes_of
from harness.model import Model
from harness.reference import Interpreter, dequantize
from harness.uart.lines import LineSplitter

SINE = Model.from_file(paths.models() / "hello_world_int8.tflite")
FLOAT = Model.from_file(paths.models() / "hello_world_float32.tflite")
DIGITS = Model.from_file(paths.models() / "digits_int8.tflite")


def fit(text: str, model: Model) -> Fit | None:
    splitter = LineSplitter()
    lines = [*splitter.feed(text.encode()), *splitter.flush()]
    return find_fit(shapes_of(lines, lines), lines, model, over=True)


def sine(model: Model = SINE) -> tuple[np.ndarray, np.ndarray]:
    source = model.inputs[0]
    x = np.arange(-120, 100, 11) if source.scale else np.linspace(0, 6, 20)
    x = x.astype(source.dtype)
    (y,) = Interpreter.from_model(model).invoke_batch([x.reshape(-1, *source.shape)])
    return x, y.ravel()


def real(values: np.ndarray, tensor) -> np.ndarray:
    return dequantize(values, tensor.scale, tensor.zero_point)


def test_quantized_numbers_on_one_line_are_found():
    rows = [f"run {i}: in {x} out {y}\n" for i, (x, y) in enumerate(zip(*sine(), strict=True))]
    found = fit("hello 7\n" + "".join(rows), SINE)
    assert (found.compared, found.mismatches, found.inferences) == (20, 0, 20)
    assert found.printed.inputs[0].regex == r"^run -?\d+: in (-?\d+) out -?\d+$"
    assert found.printed.outputs[0].form is None


def test_real_numbers_on_two_lines_are_found():
    x, y = sine()
    pairs = zip(real(x, SINE.inputs[0]), real(y, SINE.outputs[0]), strict=True)
    found = fit("".join(f"x = {a:.6f}\ny = {b:.6f} after 3 ms\n" for a, b in pairs), SINE)
    assert (found.compared, found.mismatches) == (20, 0)
    assert {one.form for one in (*found.printed.inputs, *found.printed.outputs)} == {"real"}


def test_numbers_of_a_float_model_are_found():
    pairs = zip(*sine(FLOAT), strict=True)
    found = fit("".join(f"{a:.7f} -> {b:.7f}\n" for a, b in pairs), FLOAT)
    assert (found.compared, found.mismatches) == (20, 0)


def digits() -> tuple[np.ndarray, np.ndarray]:
    shape = DIGITS.inputs[0].shape
    x = np.random.default_rng(1).integers(-128, 128, (4, *shape)).astype(np.int8)
    return x, Interpreter.from_model(DIGITS).invoke_batch([x])[0]


def test_many_numbers_in_a_row_get_one_group():
    rows = zip(*digits(), strict=True)
    text = "".join(
        f"pixels {' '.join(map(str, x.ravel()))}\nscores: [{', '.join(map(str, y.ravel()))}]\n"
        for x, y in rows
    )
    found = fit(text, DIGITS)
    assert (found.inferences, found.mismatches) == (4, 0)
    assert len(found.printed.inputs[0].regex) < 80


def test_elements_line_by_line_with_an_index_are_found():
    rows = zip(*digits(), strict=True)
    text = "".join(
        f"pixels {' '.join(map(str, x.ravel()))}\n"
        + "".join(f"  class {i}: {v}\n" for i, v in enumerate(y.ravel()))
        for x, y in rows
    )
    found = fit(text, DIGITS)
    assert (found.inferences, found.mismatches) == (4, 0)
    assert found.printed.outputs[0].regex == r"^  class (?P<index>-?\d+): (-?\d+)$"


@pytest.mark.parametrize("wrong", [1, 9])
def test_some_wrong_values_are_reported_and_do_not_prevent_a_fit(wrong):
    x, y = sine()
    y[:wrong] += 1
    found = fit("".join(f"in {a} out {b}\n" for a, b in zip(x, y, strict=True)), SINE)
    assert found.mismatches == wrong
    count = f"{wrong} of 20 printed values are not what the model computes"
    assert found.problem.startswith(f"{count}: Identity")


@pytest.mark.parametrize("prefix", ["[00:00:{:02d}.685,355] <inf> app: ", "I ({}1234) app: "])
def test_a_clock_before_the_numbers_is_no_tensor(prefix):
    rows = enumerate(zip(*sine(), strict=True))
    found = fit("".join(f"{prefix.format(i)}x {x} y {y}\n" for i, (x, y) in rows), SINE)
    assert (found.compared, found.mismatches) == (20, 0)
    assert found.printed.inputs[0].regex.endswith(r"app: x (-?\d+) y -?\d+$")


def test_numbers_that_never_change_prove_nothing():
    (y,) = Interpreter.from_model(SINE).invoke([np.array([[5]], np.int8)])
    assert fit(f"in 5 out {y.item()}\n" * 9, SINE) is None


@pytest.mark.parametrize(
    "text",
    ["", "hello\n", "in 3 out 4\n" * 9, "".join(f"{i} {i * i % 97}\n" for i in range(90))],
    ids=["empty", "words", "other numbers", "another function"],
)
def test_numbers_that_are_not_the_models_do_not_fit(text):
    assert fit(text, SINE) is None


TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"


def test_a_console_of_records_or_tests_has_no_fit():
    for path in [*TRANSCRIPTS.glob("*.log"), *TRANSCRIPTS.glob("ztest/*.log")]:
        assert fit(path.read_text("utf-8", "replace"), DIGITS) is None
