"""A case: its keys as the code uses them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.base.expected import Expected
from harness.case.case import Case, LastLine, share_of
from harness.uart.scrapers import TensorRegex

OWN = Case("own", options={"timing": "branches", "power_on": "both", "wait": 5.0})


def test_a_case_on_another_target_has_the_options_that_this_one_takes():
    assert OWN.target_options == {"timing": "branches", "power_on": "both"}
    assert OWN.on("renode").target_options == {"power_on": "both"}
    assert OWN.on("board").target_options == {"wait": 5.0}
    assert OWN.on("board").on("simulator") == OWN


def test_models_of_peripherals_are_an_option_of_the_simulator_and_told_to_renode():
    case = Case("own", peripherals={"SAADC": "samples.npz"})
    assert case.target_options == {"peripherals": {"SAADC": "samples.npz"}}
    assert case.on("renode").target_options == case.target_options  # which refuses them by name
    assert case.on("board").target_options == {}


def test_defaults_of_a_case():
    case = Case("own")
    assert (case.target, case.least_results) == ("simulator", 1)
    assert (case.rows, case.tolerance) == (None, None)
    assert (case.end, case.last_line, case.observe_after) == ("idle", "", 1.0)
    assert (case.timeout, case.guard, case.repeat) == (10.0, 120.0, 1)
    assert case.expect.wants_outputs
    assert case.arithmetic == Arithmetic()


@pytest.mark.parametrize(
    ("inferences", "values", "least"), [(None, 0, 1), (None, 3, 3), (5, 3, 5), (2, 3, 3)]
)
def test_every_listed_result_must_come(inferences, values, least):
    case = Case("own", inferences=inferences, expect=Expected(values=({"x": 1.0},) * values))
    assert case.least_results == least


@pytest.mark.parametrize(
    ("expected", "wanted"),
    [
        (Expected(), True),
        (Expected(findings=(("fault", ""),)), False),
        (Expected(findings=(("fault", ""),), values=({"x": 1.0},)), True),
        (Expected(findings=(("fault", ""),), tests={"a": "fail"}), True),
        (Expected(True, (("fault", ""),)), True),
        (Expected(False), False),
    ],
)
def test_an_expected_finding_excuses_missing_outputs(expected, wanted):
    assert expected.wants_outputs is wanted


def test_the_regexes_of_outputs_read_text():
    case = Case("own", inputs=("x: (.)",), outputs=("y: (.)",), inferences=4)
    assert case.reads_text
    assert case.input_file is None
    assert case.printed.most == 4
    assert case.printed.inputs == (TensorRegex("x: (.)"),)
    assert case.printed.outputs == (TensorRegex("y: (.)"),)
    assert replace(case, inputs=Path("x.npy")).printed.inputs == ()


def test_a_last_line_is_a_regex():
    assert Case("own", end=LastLine("^done$")).last_line == "^done$"


@pytest.mark.parametrize("text", ["95", "101 %", "-1 %", 0.5])
def test_a_share_is_percent(text):
    assert share_of("97.5 %") == 0.975
    with pytest.raises(UsageError, match="is not a share of all mistakes"):
        share_of(text)
