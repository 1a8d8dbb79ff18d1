"""Several runs of one case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from results import case_result

from harness.case.repeat import CaseRun, of_repeated
from harness.case.result import Verdict


def run(verdict: Verdict, console: bytes = b"", reason: str = "why") -> CaseRun:
    return CaseRun(case_result(verdict=verdict, reason=reason), console)


PASS, FAIL = run(Verdict.PASS, b"y=1\r\nz=2\r\n"), run(Verdict.FAIL, b"y=1\r\nz=3\r\n")


def test_runs_that_all_pass_pass():
    result = of_repeated([PASS, PASS], 2)
    assert (result.verdict, result.reason) == (Verdict.PASS, "why in each of 2 runs")


@pytest.mark.parametrize("runs", [[PASS, FAIL], [FAIL, PASS]])
def test_verdicts_that_differ_are_flaky_with_what_differed_first(runs):
    result = of_repeated(runs, 2)
    assert result.verdict is Verdict.FLAKY
    assert result.reason == ("passed 1 of 2 runs; line 2 is 'z=2' in one and 'z=3' in another: why")
    assert result.judgement.problems[0] == result.reason


def test_failures_of_two_kinds_are_flaky():
    hang = run(Verdict.FIRMWARE, b"y=1\r\n")
    result = of_repeated([FAIL, hang], 2)
    assert result.verdict is Verdict.FLAKY
    assert "line 2 is '' in one and 'z=3' in another" in result.reason


def test_equal_failures_are_a_failure():
    assert of_repeated([FAIL, FAIL], 2).verdict is Verdict.FAIL


def test_a_lost_target_says_nothing_about_the_image():
    assert of_repeated([PASS, run(Verdict.ERROR)], 3).verdict is Verdict.ERROR


def test_the_console_is_read_before_the_next_run_replaces_it(tmp_path):
    path = tmp_path / "console.bin"
    path.write_bytes(b"one")
    result = case_result()
    result = replace(result, evidence=replace(result.evidence, console=path))
    first = CaseRun.of(result)
    path.write_bytes(b"two")
    assert (first.console, CaseRun.of(result).console) == (b"one", b"two")
