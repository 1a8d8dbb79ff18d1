"""Cases and the targets they run on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.case.case import Case, on_targets, target_names

OWN = Case("own", target_options={"x": 1})


def test_a_case_on_another_target_leaves_the_first_ones_options_behind():
    other = OWN.on("renode")
    assert (other.name, other.target, other.target_options) == ("own", "renode", {})
    assert OWN.on("renode", {"y": 2}).target_options == {"y": 2}
    assert (OWN.target, OWN.target_options) == ("simulator", {"x": 1})


def test_a_named_chip_is_the_cases_unless_the_case_has_another():
    assert OWN.for_chip("nRF9151").chip == "nrf9151"
    own = replace(OWN, chip="nrf9151")
    assert own.for_chip("").chip == own.for_chip("nrf9151").chip == "nrf9151"
    with pytest.raises(UsageError, match=r"'own' is for the nRF9151, .* named is the nRF5340"):
        own.for_chip("nrf5340")


def test_cases_run_once_on_each_target_whatever_targets_a_file_names():
    cases = [Case("a"), Case("a").on("renode"), Case("b")]
    found = on_targets(cases, ["simulator", "board"])
    assert [str((one.name, one.target)) for one in found] == [
        "('a', 'simulator')", "('a', 'board')", "('b', 'simulator')", "('b', 'board')",
    ]  # fmt: skip


def test_targets_are_named_with_commas_and_each_counts_once():
    assert target_names("simulator, renode,simulator") == ["simulator", "renode"]


@pytest.mark.parametrize(
    ("text", "message"), [("renod", "no target 'renod'"), ("simulator,", "'simulator,' names no")]
)
def test_a_target_that_there_is_not_is_refused_with_those_that_are(text, message):
    with pytest.raises(UsageError, match=message) as refused:
        target_names(text)
    assert "one of simulator, renode" in refused.value.hint


def test_defaults_of_a_case():
    case = Case("own")
    assert (case.inferences, case.rows, case.reference, case.tolerance) == (1, 0, True, None)
    assert (case.ends, case.watch, case.trace) == (True, 1.0, False)
    assert (case.timeout, case.guard) == (10.0, 120.0)
