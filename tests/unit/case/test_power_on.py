"""Two runs with different values in memory must show the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.findings import Kind
from harness.case.case import Case
from harness.case.power_on import Behaviour, first_difference, runs_of, seeds_of
from harness.targets.base import Stop

ONE = Behaviour(b"first\nsecond\n", Stop.IDLE, 1000)


def case(**options: object) -> Case:
    return Case("case", Path("image.elf"), options=options)


@pytest.mark.parametrize(
    ("options", "seeds"),
    [({}, "1"), ({"power_on": "7"}, "7"), ({"power_on": "zero"}, "zero"),
     ({"power_on": "both"}, "1 and 2")],
)  # fmt: skip
def test_a_result_names_its_seeds(options: dict[str, object], seeds: str) -> None:
    assert seeds_of(case(**options)) == seeds


def test_a_target_that_takes_no_seed_has_none() -> None:
    assert seeds_of(Case("case", Path("image.elf"), targets=("board",))) == ""


def test_both_are_two_runs_that_differ_in_the_seed_alone() -> None:
    runs = runs_of(case(power_on="both", timing="branches"))
    assert [dict(run.target_options) for run in runs] == [
        {"power_on": seed, "timing": "branches"} for seed in ("1", "2")
    ]
    assert runs_of(case(power_on="2")) == [case(power_on="2")]


def test_one_run_differs_from_nothing() -> None:
    assert first_difference([ONE]) == ()
    assert first_difference([ONE, ONE]) == ()


def test_runs_that_the_guard_ended_are_not_compared() -> None:
    ended = [Behaviour(b"", Stop.GUARD, count) for count in (1, 2)]
    assert first_difference(ended) == ()
    assert first_difference([ONE, ended[0]]) != ()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            Behaviour(b"first\nother\n", Stop.IDLE, 1000),
            "console line 2 is 'second' against 'other'",
        ),
        (Behaviour(b"first\n", Stop.IDLE, 1000), "console line 2 is 'second' against ''"),
        (Behaviour(b"first\nsecond\nx", Stop.IDLE, 1), "console line 3 is '' against 'x'"),
        (Behaviour(b"", Stop.IDLE, 1000), "console line 1 is 'first' against ''"),
        (Behaviour(ONE.console, Stop.LOCKUP, 1000), "the end of the run is idle against lockup"),
        (
            Behaviour(ONE.console, Stop.IDLE, 1001),
            "the count of instructions is 1,000 against 1,001",
        ),
    ],
)
def test_the_first_difference_is_named(other: Behaviour, words: str) -> None:
    (finding,) = first_difference([ONE, other])
    assert finding.kind is Kind.UNINITIALISED_MEMORY
    assert finding.message.endswith(f": {words} (power-on seeds 1 and 2)")
