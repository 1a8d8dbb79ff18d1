import io

import pytest
from results import case_result

from harness.report.progress import StudyProgress, Ticker
from harness.studies.dispatch import Progress


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


@pytest.mark.parametrize(
    ("seconds", "progress", "line"),
    [
        (4.0, Progress(400, 1_000, 0, 0), "400 of 1,000, 100 a second, 6 s left"),
        (10.0, Progress(1, 3, 0, 0), "1 of 3, 6.0 a minute, 20 s left"),
        (60.0, Progress(10, 130, 0, 0), "10 of 130, 10.0 a minute, 12 min left"),
        (60.0, Progress(1, 241, 0, 0), "1 of 241, 1.0 a minute, 4 h 0 min left"),
        (4.0, Progress(900, 1_000, 800, 0), "900 of 1,000, 25 a second, 4 s left"),
        (4.0, Progress(8, 8, 0, 0), "8 of 8, 2 a second, 0 s left"),
        (4.0, Progress(0, 8, 0, 2), "0 of 8, workers lost: 2"),
    ],
)
def test_a_line_has_the_rate_since_the_start_and_the_time_left(seconds, progress, line, capsys):
    times = iter([0.0, seconds])
    StudyProgress(lambda: next(times))(progress)
    assert capsys.readouterr().err == f"{line}\n"


def test_a_line_comes_every_other_second_only(capsys):
    times = iter([0.0, 1.0, 2.0, 3.0, 4.0])
    show = StudyProgress(lambda: next(times))
    for items in range(4):
        show(Progress(items, 8, 0, 0))
    assert capsys.readouterr().err.count("\n") == 2
