"""Expected values from console output."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from harness.starter.printed import Printed, expectation, first_failure, last_line
from harness.uart.lines import Line


def lines_of(*texts: str, step: float = 0.01) -> list[Line]:
    return [Line(n, n * step, text, text.encode()) for n, text in enumerate(texts)]


def expected(
    *texts: str, ends: bool = True, step: float = 0.01, again: list[str] | None = None
) -> Printed | None:
    other = None if again is None else lines_of(*again)
    until = len(texts) * step
    return expectation(lines_of(*texts, step=step), ends=ends, until=until, again=other)


def test_the_most_frequent_template_is_read():
    found = expected("boot 7", "score: 1", "score: -2.5")
    assert found == Printed(
        r"/^score: (?P<score>-?\d+(?:\.\d+)?)$/", ({"score": 1}, {"score": -2.5})
    )


def test_one_period_of_repeating_numbers_is_expected():
    found = expected(*["a 1", "a 2", "a 3"] * 3, ends=False)
    assert found is not None
    assert found.values == ({"a": 1}, {"a": 2}, {"a": 3})


def test_words_are_expected_beside_a_running_count():
    found = expected(*(f"{n} idle ticks" for n in range(20)), ends=False)
    assert found is not None
    assert found.values == ({"text": " idle ticks"},)


def test_a_finished_template_precedes_an_unfinished_one():
    found = expected("x 1", "x 2", *(f"tick {n}" for n in range(30)), ends=False)
    assert found is not None
    assert found.values == ({"x": 1}, {"x": 2})


def test_nothing_is_expected_without_readable_output():
    assert expected() is None
    assert expected("", "   ", "\x07\x00") is None
    assert expected("---", "===") is None


# numbers that are not values


@pytest.mark.parametrize("line", [
    "unity_test_arm_softmax_s8.c:12: value", "at kernel/conv.cc:33:7", "layer_3/conv_7 done",
    "run C:\\s8\\test_16.c", "see line 12", "version v1.2.3", "buffer at 0x20000410",
    "12:03:55 up", "[00:00:00.010,000] ready", "took 34 ms", "took 5120 ticks",
])  # fmt: skip
def test_numbers_of_files_lines_times_and_addresses_are_not_values(line):
    found = expected(line, line, line)
    assert found is not None
    assert set(found.values[0]) == {"text"}


def test_an_address_of_a_line_with_values_may_be_another():
    found = expected("tensor 0x20000410: 3", "tensor 0x20000500: 4")
    assert found is not None
    assert found.values == ({"value": 3}, {"value": 4})
    assert re2.search(found.regex[1:-1], "tensor 0x1f: 9")


def test_every_value_has_a_name_of_its_own():
    found = expected("a 1 a_1 2 a 3")
    assert found is not None
    assert sorted(found.values[0].values()) == [1, 2, 3]


def test_numbers_that_depend_on_the_timing_are_left_out():
    found = expected("y 3 after 700", "y 4 after 900", again=["y 3 after 710", "y 4 after 920"])
    assert found is not None
    assert found.values == ({"y": 3}, {"y": 4})
    assert found.varied


def test_lines_that_are_rarer_with_another_timing_are_not_expected():
    assert expected("y 3", "y 4", again=["y 3"]) is None


# verdicts and failures


@pytest.mark.parametrize("line", [
    "test_add: PASS", "[PASSED] 7", "3 tests failed", "test 4 ... OK", "1 Ignored", "SKIP 2",
])  # fmt: skip
def test_lines_that_look_like_verdicts_of_tests_are_not_expected(line):
    assert expected(line, line) is None


def test_words_that_only_hold_such_letters_are_expected():
    assert expected("bypass 3") is not None and expected("token 3") is not None


@pytest.mark.parametrize("line", [
    "ERROR at pos 4: Act: 1", "self test failed", "assert in main.c", "ASSERTION", "Fatal",
    "panic!", "error: -5", "3 errors", "2 mismatches", "x.c:3:t:FAIL: why", "10 errors",
])  # fmt: skip
def test_a_line_that_shows_a_failure_is_found(line):
    found = first_failure(lines_of("fine", line))
    assert found is not None and found.text == line


@pytest.mark.parametrize("line", [
    "0 errors", "no errors found", "failed: 0", "3 Tests 0 Failures 0 Ignored", "errors=0",
    "default 3", "terrors", "0 out mismatches",
])  # fmt: skip
def test_a_line_that_counts_no_failure_does_not_show_one(line):
    assert first_failure(lines_of(line)) is None


# the last line


def test_the_last_line_is_escaped_and_keeps_its_numbers():
    lines = lines_of("y: 3", "done (2 of 2).")
    assert last_line(lines, lines) == r"^done \(2 of 2\)\.$"


def test_numbers_of_the_last_line_that_vary_or_are_times_may_be_others():
    assert last_line(lines_of("a", "sum 7, rest 1"), lines_of("a", "sum 9, rest 1")) == (
        r"^sum -?\d+(?:\.\d+)?, rest 1$"
    )
    lines = lines_of("a", "took 12 ms")
    assert last_line(lines, lines) == r"^took -?\d+(?:\.\d+)? ms$"


@pytest.mark.parametrize(("one", "other"), [
    ([], []), (["a"], []), (["a", "b"], ["a", "c"]), (["a", "b", "a"], ["a", "b", "a"]),
    (["t 1 ms", "t 2 ms"], ["t 1 ms", "t 2 ms"]), (["x 1", "x 2"], ["x 3", "x 1"]),
])  # fmt: skip
def test_a_line_that_is_not_the_last_alone_is_not_an_end(one, other):
    assert last_line(lines_of(*one), lines_of(*other)) == ""


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


@given(LINES)
def test_the_end_is_the_last_line_and_no_other(texts):
    lines = lines_of(*texts)
    regex = last_line(lines, lines)
    if regex:
        *before, last = [text for text in texts if text.strip() and text.isprintable()]
        compiled = re2.compile(regex)
        assert compiled.search(last)
        assert not any(compiled.search(text) for text in before)
