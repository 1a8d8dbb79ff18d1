"""Scraped results against the model, the case's values and known failures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.base import paths
from harness.base.expected import Expected
from harness.case.case import Case, LastLine
from harness.case.observe import scrapers_of
from harness.case.outputs import check_outputs
from harness.model import Model
from harness.reference import Interpreter, dequantize, quantize
from harness.uart import Console, scraper

TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.from_file(paths.models() / "hello_world_int8.tflite")


def printed(model: Model, count: int, *, truncate: bool = False, start: int = 0) -> str:
    """What the stock sample prints with this model."""
    x = np.array([(start + i) % 20 / 20 * 2 * np.pi for i in range(count)])
    source, sink = model.inputs[0], model.outputs[0]
    fed = quantize(x, source.scale, source.zero_point, source.dtype, truncate=truncate)
    out = Interpreter.from_model(model).invoke_batch([fed.reshape(-1, *source.shape)])[0]
    y = dequantize(out.reshape(-1), sink.scale, sink.zero_point)
    rows = (f"x_value: {a:.6f}, y_value: {b:.6f}" for a, b in zip(x, y, strict=True))
    return "\n\n".join(rows) + "\n"


def check(
    text: str | bytes, model: Model | None, name: str = "hello_world", values=(), tests=(), **case
):
    console = Console([scraper(name)])
    console.feed(text if isinstance(text, bytes) else text.encode())
    console.finish()
    expect = Expected(values=values, tests=dict(tests))
    return check_outputs(
        console,
        Case("c", elf=Path("x"), scraper=name, expect=expect, **case),
        model,
    )


@pytest.mark.parametrize("truncate", [False, True])
def test_the_printed_results_are_the_models_outputs(model, truncate):
    told = check(printed(model, 45, truncate=truncate, start=7), model)
    assert (told.compared, told.mismatches, told.inferences, told.problem) == (45, 0, 45, "")


def test_an_image_without_a_network_that_prints_zeros_fails(model):
    told = check("x_value: 0.000000, y_value: 0.000000\n" * 20, model)
    assert told.mismatches
    assert told.problem


def test_one_wrong_y_after_the_expected_results_fails(model):
    lines = printed(model, 20).splitlines(keepends=True)
    lines[-1] = lines[-1].partition("y_value")[0] + "y_value: 7.000000\n"
    told = check("".join(lines), model, inferences=5)
    assert told.problem == (
        "1 of 20 printed values are not what the model computes: "
        "Identity[0, 0] of inference 19 is 7, expected -0.319624"
    )


def test_results_beyond_the_listed_ones_fail():
    text = "person score: 113, no person score: -113\n" * 3
    wanted = {"person": 113, "no_person": -113}
    assert check(text, None, "person_detection", values=(wanted,) * 3).problem == ""
    more = check(text, None, "person_detection", values=(wanted,) * 2)
    assert more.problem == "3 results came, 2 are expected"


def test_a_suite_is_reported_with_its_tests(model):
    suite = (TRANSCRIPTS / "ztest" / "timer_api_failures_3.4.log").read_bytes()
    told = check(suite, None, "ztest")
    assert told.problem.startswith("4 of 15 tests failed")
    assert len(told.tests) == 15
    names = ("duration_period", "k_define", "remaining", "status_get_anytime")
    known = {f"timer_api.test_timer_{name}": "fail" for name in names}
    passed = check(suite, None, "ztest", tests=known)
    assert (passed.problem, passed.pass_reason) == ("", "11 of 15 tests passed, 4 failed as known")


def test_several_problems_are_one_line_and_details(model):
    told = check("Running TESTSUITE s\nSTART - a\n", None, "ztest")
    assert told.problem == "s.a began and did not end (and 2 more)"
    assert "the closing line (PROJECT EXECUTION) never came" in told.details


@pytest.mark.parametrize("end", ["idle", LastLine("^TESTSUITE s succeeded")])
def test_a_suite_of_ztests_shell_ends_with_the_line_that_the_case_names(end):
    text = "Running TESTSUITE s\nSTART - a\n PASS - a in 0.1 seconds\nTESTSUITE s succeeded\n"
    told = check(f"uart:~$ ztest run-testsuite s\n{text}uart:~$ ", None, "ztest", end=end)
    closing_line = "the closing line (PROJECT EXECUTION) never came"
    assert told.problem == (closing_line if end == "idle" else "")


def test_the_results_of_an_image_with_a_last_line_are_those_of_its_scraper(model):
    console = Console(scrapers_of(Case("c", scraper="hello_world", end=LastLine("^done$"))))
    console.feed((printed(model, 20) + "done\n").encode())
    console.finish()
    told = check_outputs(console, Case("c", elf=Path("x"), scraper="hello_world"), model)
    assert (told.compared, told.inferences, told.problem) == (20, 20, "")


Y = {"y": 1}


@pytest.mark.parametrize(
    ("name", "text", "case", "words"),
    [
        ("hello_world", "", {}, "the NumPy reference of hello_world_int8.tflite"),
        ("/y=(?P<y>.)/", "y=1\n", {"values": (Y,)}, "expect.values"),
        ("ztest", "START - a\n PASS - a in 0.1 seconds\n", {}, "the image's own tests"),
        ("/y=(?P<y>.)/", "y=1\n", {}, ""),
        ("/y=(?P<y>.)/", "", {"values": (Y,)}, ""),
    ],
)
def test_the_source_of_a_comparison_does_not_follow_from_a_model(model, name, text, case, words):
    told = check(text or (printed(model, 20) if name == "hello_world" else ""), model, name, **case)
    assert told.compared_with == words


def test_values_may_be_compared_with_both(model):
    (line, *_) = printed(model, 1).splitlines()
    y = float(line.rpartition(" ")[2])
    told = check(line + "\n", model, values=({"y": y},), tolerance=1e-5)
    reference = "the NumPy reference of hello_world_int8.tflite"
    assert told.compared_with == f"{reference} and expect.values"
