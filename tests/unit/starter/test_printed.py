"""What a case can expect of an image, from what it printed."""

from __future__ import annotations

import re2
from hypothesis import given
from hypothesis import strategies as st

from harness.starter.printed import Printed, what_to_expect
from harness.uart.lines import Line


def expected(*texts: str, ends: bool = True, step: float = 0.01) -> Printed | None:
    lines = [Line(n, n * step, text, text.encode(), complete=True) for n, text in enumerate(texts)]
    return what_to_expect(lines, ends=ends, until=len(texts) * step)


def test_the_form_that_most_lines_share_is_read():
    found = expected("boot 7", "score: 1", "score: -2.5")
    assert found == Printed(
        r"/^score: (?P<score>-?\d+(?:\.\d+)?)$/", ({"score": 1}, {"score": -2.5})
    )


def test_of_numbers_that_come_again_one_round_is_expected():
    found = expected(*["a 1", "a 2", "a 3"] * 3, ends=False)
    assert found is not None
    assert found.values == ({"a": 1}, {"a": 2}, {"a": 3})


def test_a_count_that_goes_on_is_not_expected_but_the_words_beside_it_are():
    found = expected(*(f"{n} idle ticks" for n in range(20)), ends=False)
    assert found is not None
    assert found.values == ({"text": " idle ticks"},)


def test_a_form_that_is_over_comes_before_one_that_goes_on():
    found = expected("x 1", "x 2", *(f"tick {n}" for n in range(30)), ends=False)
    assert found is not None
    assert found.values == ({"x": 1}, {"x": 2})


def test_nothing_is_expected_of_silence_and_of_noise():
    assert expected() is None
    assert expected("", "   ", "\x07\x00") is None
    assert expected("---", "===") is None


LINES = st.lists(
    st.text(st.characters(codec="utf-8"), max_size=12)
    | st.from_regex(r"[a-c]{1,3}[ :=]-?\d{1,3}", fullmatch=True),
    max_size=30,
)


@given(LINES, st.booleans())
def test_the_regex_reads_every_value_that_is_expected(texts, ends):
    found = expected(*texts, ends=ends)
    if found is None:
        return
    regex = re2.compile(found.regex[1:-1])
    told = [match.groupdict() for text in texts if (match := regex.search(text))]
    for row, match in zip(found.values, told, strict=False):
        for name, value in row.items():
            assert match[name] == value if isinstance(value, str) else float(match[name]) == value
    assert len(told) >= len(found.values) > 0
