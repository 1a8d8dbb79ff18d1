import io

from harness.case import CaseResult, Verdict
from harness.report.ticker import Ticker


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def result(name: str) -> CaseResult:
    return CaseResult(name, "s", "exact", "standalone", "simulator", Verdict.PASS, "fine")


def test_where_nobody_watches_a_few_plain_lines_tell_how_far_it_is():
    stream = io.StringIO()
    ticker = Ticker("running", 100, stream)
    for number in range(1, 101):
        ticker.result(result(f"case {number}"), number)
    ticker.line("not shown")
    ticker.done()
    assert stream.getvalue().splitlines() == [
        f"running: {number} of 100 cases" for number in (20, 40, 60, 80, 100)
    ]


def test_on_a_terminal_one_line_is_written_over_and_gone_at_the_end():
    stream = Terminal()
    ticker = Ticker("running", 2, stream)
    ticker.result(result("a long name"), 1)
    ticker.result(result("b"), 2)
    ticker.done()
    shown = stream.getvalue()
    assert "\n" not in shown
    assert "[1/2] a long name: pass" in shown
    assert shown.split("\r")[-2].strip() == ""


def test_a_process_without_standard_output_is_no_trouble(monkeypatch):
    monkeypatch.setattr("sys.__stdout__", None)
    ticker = Ticker("running", 1)
    ticker.line("x")
    ticker.result(result("a"), 1)
    ticker.done()
