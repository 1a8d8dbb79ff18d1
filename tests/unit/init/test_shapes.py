"""What columns of console lines hold: results, or what is known for none."""

from __future__ import annotations

import pytest

from harness.case.init.shapes import Holds, Shape, failing, shapes_of
from harness.uart.lines import Line

VALUE, LABEL, TIME = Holds.VALUE, Holds.LABEL, Holds.TIME


def lines(*texts: str, every: float = 0.1) -> list[Line]:
    pairs = enumerate(texts, 1)
    return [Line(number, number * every, text, text.encode()) for number, text in pairs]


def held(*texts: str, again: tuple[str, ...] = ()) -> list[Holds]:
    """What the columns of the only shape of these lines hold, without the words."""
    [shape] = shapes_of(lines(*texts), lines(*(again or texts)))
    return [one for one in shape.holds if one is not Holds.WORD]


@pytest.mark.parametrize(("texts", "expected"), [
    (["score 12"], [VALUE]),
    (["idle: 0.97", "yes: 0.03"], [LABEL, VALUE]),
    (["[00:00:05.685,355] <inf> app: x 3.5 y 1.25"], [TIME, VALUE, VALUE]),
    (["I (1234) app: y 0.5", "I (1334) app: y 0.7", "I (1434) app: y 0.2"], [TIME, VALUE]),
    (["2026-11-28 08:41:30 class 3"], [TIME, TIME, VALUE]),
    (["<    0.020> y 3"], [TIME, VALUE]),
    (["[   12.345678] y 3"], [TIME, VALUE]),
    (["took 12 ms, y 3"], [TIME, VALUE]),
    (["y 3 took=1204 cycles"], [VALUE, TIME]),
    (["cycles=20911 y=1", "cycles=20943 y=4"], [TIME, VALUE]),
    (["arena 1284 bytes, heap 20 KB"], [Holds.SIZE, Holds.SIZE]),
    (["tensor at 0x20012a40 is 0xAA"], [Holds.ADDRESS, VALUE]),
    (["fw v1.2.3-4-gabc1234 y 7"], [Holds.NAME, VALUE]),
    (["commit c0d91e5 y 7"], [Holds.NAME, VALUE]),
    (["main.c:41 y 7"], [Holds.PLACE, VALUE]),
    (["$ML;idle: 0.93*5A", "$ML;idle: 0.41*66"], [VALUE, Holds.CHECKSUM]),
    (["y 1.27e-01", "y -9.5e+00"], [VALUE]),
    (["cls 0.931/0.038"], [VALUE, VALUE]),
    (["M1 1.12mm/s"], [VALUE]),
    (["out -128-128  22-125"], [VALUE] * 4),
    (["0010: 80 7f ff 0a"], [VALUE, VALUE]),
])  # fmt: skip
def test_columns(texts, expected):
    assert held(*texts) == expected


def test_a_number_that_counts_lines_is_a_counter():
    own = lines("#1 y 5", "#2 y 9", "#3 y 5", every=0.37)
    [shape] = shapes_of(own, own)
    assert shape.holds == (Holds.COUNTER, Holds.WORD, VALUE)


def test_a_number_that_differs_in_another_run_is_no_result():
    assert held("noise 5", "noise 7", again=("noise 5", "noise 8")) == [Holds.VOLATILE]


def test_padded_numbers_are_lines_of_one_shape():
    [shape] = shapes_of(two := lines("out:  12 -128", "out: -3    7"), two)
    assert len(shape.rows) == 2


def test_a_word_that_is_a_label_elsewhere_shows_no_failure():
    own = lines("fault: 0.9", "idle: 0.1", "result fault (0.9)", "result idle (0.8)")
    assert failing(shapes_of(own, own)) is None
    own = lines("idle: 0.1", "yes: 0.9", "Invoke failed")
    assert failing(shapes_of(own, own)).text == "Invoke failed"


def test_the_regex_reads_all_lines_of_its_shape():
    texts = ["[00:00:01.250,000] a.b: idle  0.5 (x)", "[00:00:11.250,000] a.b: yes   -12 (x)"]
    [shape] = shapes_of(lines(*texts), lines(*texts))
    assert isinstance(shape, Shape)
    import re2

    pattern = re2.compile(shape.regex(shape.names()))
    read = [pattern.search(text).groupdict() for text in texts]
    assert [list(one.values()) for one in read] == [["idle", "0.5"], ["yes", "-12"]]
