"""How many numbers and lines of a console were compared with something."""

from __future__ import annotations

import pytest

from harness.uart.coverage import coverage_of, numbers_in
from harness.uart.lines import Line, LineSplitter
from harness.uart.scrapers import ExpectedResults, scraper

CONSOLE = "boot v1.2.3 heap 40960\nidle: 0.97\n~HIL 0 boot x=1 *00000000\n\nyes: 0.03 at 12 ms\n"


def lines(text: str) -> list[Line]:
    splitter = LineSplitter()
    return [*splitter.feed(text.encode()), *splitter.flush()]


@pytest.mark.parametrize(("text", "numbers"), [
    ("x 1 y=-2.5 z:3e-4", ["1", "-2.5", "3e-4"]),
    ("0xAA 0x20001000", ["0xAA", "0x20001000"]),
    ("1.25*2^-3", ["1.25*2^-3"]),
    ("v1.2.3 x86 uart0 1.2.3", []),
    ("97% (12)", ["97", "12"]),
    ("[00:00:05.685,355] <inf> y: 3 2026-11-28 08:41", ["3"]),
])  # fmt: skip
def test_numbers_are_no_parts_of_words_versions_or_clocks(text, numbers):
    assert [match[0] for match in numbers_in(text)] == numbers


def covered(regexes, values, *, ignored=(), repeats=False):
    reader, read = scraper(regexes), lines(CONSOLE)
    for line in read:
        reader.feed(line)
    expected = ExpectedResults(values=values, repeats=repeats)
    return coverage_of(read, reader.compared(expected), (), ignored)


def test_numbers_that_are_listed_are_checked_and_others_are_not():
    found = covered([r"/^(?P<label>\w+): (?P<score>\S+)/"], ({"score": 0.97}, {"score": 0.03}))
    assert str(found) == "2 of 4 numbers checked"
    assert (found.lines, found.lines_checked) == (3, 2)
    assert [(one.line, one.numbers) for one in found.unread] == [(1, ("40960",)), (5, ("12",))]


def test_a_number_that_is_read_and_compared_with_nothing_does_not_count():
    found = covered([r"/^(?P<label>\w+): (?P<score>\S+)/"], ({"label": "idle"}, {"label": "yes"}))
    assert found.checked == 0


def test_ignored_text_is_neither_checked_nor_missed():
    regexes = [r"/^(?P<label>\w+): (?P<score>\S+)/"]
    values = ({"score": 0.97}, {"score": 0.03})
    found = covered(regexes, values, ignored=(r"^boot .*", r"at \d+ ms"))
    assert str(found) == "2 of 4 numbers checked, 2 ignored"
    assert found.problem == ""


def test_the_problem_names_the_first_line():
    found = covered([r"/^(?P<label>\w+): (?P<score>\S+)/"], ({"score": 0.97}, {"score": 0.03}))
    assert found.problem == (
        "2 numbers of the console are not checked: line 1 'boot v1.2.3 heap 40960'"
    )


def test_lines_of_several_kinds_are_results_in_turn():
    reader = scraper([r"/idle: (?P<idle>\S+)/", r"/(?P<label>\w+): (?P<other>\S+)/"])
    for line in lines(CONSOLE):
        reader.feed(line)
    assert [dict(one.values) for one in reader.results] == [
        {"idle": "0.97"}, {"label": "yes", "other": "0.03"}
    ]  # fmt: skip
