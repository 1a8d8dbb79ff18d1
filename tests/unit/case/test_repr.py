"""How cases and results look in a shell and in a notebook."""

from __future__ import annotations

from results import case_result

from harness.case import Case
from harness.case.result import OperatorTicks, Verdict


def test_a_case_shows_what_differs_from_the_defaults():
    assert repr(Case("a")) == "Case(name='a')"
    case = Case("a", scraper="ztest", timeout=3.0, targets=("renode",))
    assert repr(case) == "Case(name='a', scraper='ztest', timeout=3.0, targets=('renode',))"


def test_a_result_is_one_line():
    result = case_result(name="a", target="simulator", verdict=Verdict.FAIL, reason="no")
    assert repr(result) == "<CaseResult a on simulator: fail: no>"


def test_a_notebook_shows_figures_and_bars_of_operators():
    result = case_result(operators=(OperatorTicks("CONV_2D", 300), OperatorTicks("ADD", 100)))
    page = result._repr_html_()
    assert "CONV_2D" in page
    assert "width:75.0%" in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_text_of_a_device_is_escaped():
    page = case_result(reason="<script>", details="<b>", name="<i>")._repr_html_()
    assert not any(mark in page for mark in ("<script", "<b>", "<i>"))
