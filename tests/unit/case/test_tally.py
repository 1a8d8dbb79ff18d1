"""Sets of results that count as tested, and their summary line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from results import case_result

from harness.case import Verdict
from harness.case.tally import Tally, exit_code

PASS, FAIL, FIRMWARE = Verdict.PASS, Verdict.FAIL, Verdict.FIRMWARE
ERROR, SKIPPED = Verdict.ERROR, Verdict.SKIPPED


def tally(*rows: tuple[str, str, Verdict], **asked) -> Tally:
    """A tally of results: case, target, verdict."""
    results = [
        case_result(name=name, target=target, verdict=verdict, reason="no Renode")
        for name, target, verdict in rows
    ]
    return replace(Tally.of(results), **asked)


TESTED = [
    tally(("a", "simulator", PASS)),
    tally(("a", "simulator", FAIL), ("b", "simulator", ERROR)),
    tally(("a", "simulator", PASS), ("a", "renode", SKIPPED)),
    tally(("a", "renode", SKIPPED), ("a", "simulator", PASS)),
    tally(("a", "renode", SKIPPED), allow_skips=True),
    tally(("a", "renode", SKIPPED), named={"renode"}, allow_skips=True),
    tally(("a", "simulator", PASS), named={"simulator"}),
]
UNTESTED = [
    (tally(), "no case was asked for, so nothing was tested"),
    (tally(allow_skips=True), "no case was asked for, so nothing was tested"),
    (tally(("a", "renode", SKIPPED)), "a did not run on any of its targets: no Renode"),
    (
        tally(("a", "simulator", PASS), ("b", "renode", SKIPPED), ("b", "board", SKIPPED)),
        "b did not run on any of its targets: no Renode",
    ),
    (
        tally(("a", "simulator", PASS), ("a", "renode", SKIPPED), named={"simulator", "renode"}),
        "renode was asked for by name, and a did not run: no Renode",
    ),
]


@pytest.mark.parametrize("one", TESTED)
def test_a_case_that_ran_where_it_had_to_is_tested(one):
    assert one.untested == ""


@pytest.mark.parametrize(("one", "why"), UNTESTED)
def test_a_case_that_did_not_run_is_not_tested(one, why):
    assert one.untested == why


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([PASS], 0),
        ([PASS, FAIL], 1),
        ([FAIL, FIRMWARE, ERROR], 4),
        ([PASS, ERROR], 3),
        ([FAIL, ERROR], 1),
    ],
)
def test_the_gravest_verdict_is_the_exit_code(verdicts, code):
    rows = [(str(number), "simulator", verdict) for number, verdict in enumerate(verdicts)]
    assert exit_code(verdicts, tally(*rows)) == code


def test_a_skip_is_an_exit_code_only_where_it_leaves_something_untested():
    covered = tally(("a", "simulator", PASS), ("a", "renode", SKIPPED))
    assert exit_code([PASS, SKIPPED], covered) == 0
    alone = tally(("a", "simulator", PASS), ("b", "renode", SKIPPED))
    assert exit_code([PASS, SKIPPED], alone) == 3


def test_the_line_counts_and_gives_each_reason_once():
    rows = [("a", "renode", SKIPPED), ("b", "renode", SKIPPED), ("c", "board", ERROR)]
    counts = tally(*rows, ("d", "simulator", PASS), asked=7)
    assert str(counts) == "7 asked for, 1 ran, 2 skipped (renode: no Renode), 1 error"


def test_the_document_lists_skipped_cases():
    document = tally(("a", "simulator", FIRMWARE), ("b", "renode", SKIPPED)).to_json()
    skipped = [{"case": "b", "target": "renode", "reason": "no Renode"}]
    assert document == {"asked": 2, "ran": 1, "skipped": skipped}
