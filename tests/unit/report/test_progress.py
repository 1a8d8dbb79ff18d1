import io

from results import case_result

from harness.report.progress import Ticker


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_outside_a_terminal_progress_is_a_few_plain_lines():
    stream = io.StringIO()
    ticker = Ticker("running", 100, stream)
    for number in range(1, 101):
        ticker.result(case_result(name=f"case {number}"), number)
    ticker.line("not shown")
    ticker.done()
    assert stream.getvalue().splitlines() == [
        f"running: {number} of 100 cases" for number in (20, 40, 60, 80, 100)
    ]


def test_on_a_terminal_one_line_is_written_over_and_gone_at_the_end():
    stream = Terminal()
    ticker = Ticker("running", 2, stream)
    ticker.result(case_result(name="a long name"), 1)
    ticker.result(case_result(name="b"), 2)
    ticker.done()
    shown = stream.getvalue()
    assert "\n" not in shown
    assert "[1/2] a long name: pass" in shown
    assert shown.split("\r")[-2].strip() == ""


def test_a_process_without_standard_output_shows_nothing(monkeypatch):
    monkeypatch.setattr("sys.__stdout__", None)
    ticker = Ticker("running", 1)
    ticker.line("x")
    ticker.result(case_result(name="a"), 1)
    ticker.done()
