"""How cases and results look in a shell."""

from __future__ import annotations

from results import case_result

from harness.case import Case
from harness.case.result import Verdict


def test_a_case_shows_what_differs_from_the_defaults():
    assert repr(Case("a")) == "Case(name='a')"
    case = Case("a", scraper="ztest", timeout=3.0, targets=("renode",))
    assert repr(case) == "Case(name='a', scraper='ztest', timeout=3.0, targets=('renode',))"


def test_a_result_is_one_line():
    result = case_result(name="a", target="simulator", verdict=Verdict.FAIL, reason="no")
    assert repr(result) == "<CaseResult a on simulator: fail: no>"
