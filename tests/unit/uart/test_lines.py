"""Console bytes as text that can be shown anywhere."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.uart import LineSplitter
from harness.uart.lines import LONGEST


def lines(*chunks: bytes) -> list:
    splitter = LineSplitter()
    fed = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*fed, *splitter.flush()]


def texts(data: bytes) -> list[str]:
    return [line.text for line in lines(data)]


def test_colours_go_and_tabs_stay():
    assert texts(b"\x1b[1;31merr\x1b[0m\tx\r\r\n") == ["err\tx"]


def test_what_a_terminal_would_obey_is_shown_and_not_passed_on():
    assert texts(b"\x1b]0;title\x07a\x00\rb\x7f\xc2\x9b1m\n") == [
        "\\x1b]0;title\\x07a\\x00\\x0db\\x7f\\x9b1m"
    ]


def test_text_of_any_language_stays_and_a_line_that_is_no_utf8_shows_its_bytes():
    assert texts("Grüße \t日本\n".encode()) == ["Grüße \t日本"]
    assert texts("Grüße\n".encode("latin-1")) == ["Gr\\xfc\\xdfe"]
    assert texts(b"\x1b[31mred\x1b[0m \xff\n") == ["red \\xff"]


def shown(code: int) -> str:
    return chr(code) if code == 9 or 32 <= code < 127 else f"\\x{code:02x}"


def codes(count: int) -> list[int]:
    return [code for code in range(count) if code != 10]


def test_of_ascii_the_printable_characters_and_tabs_are_themselves():
    for code in codes(128):
        assert texts(bytes([code]) + b".\n") == [shown(code) + "."]


def test_in_a_line_that_is_no_utf8_only_ascii_is_itself():
    for code in codes(256):
        assert texts(bytes([code]) + b".\xff\n") == [shown(code) + ".\\xff"]


def test_in_text_of_any_language_control_characters_are_shown():
    for code in codes(160):
        assert texts(f"{chr(code)}ü\n".encode()) == [shown(code) + "ü"]


def test_a_blank_that_does_not_break_is_no_control_character():
    assert texts("1\xa0000\n".encode()) == ["1\xa0000"]


@given(st.binary(max_size=200))
def test_no_byte_gives_a_control_character(data):
    for text in texts(data):
        assert all(char == "\t" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in text)


def test_lines_are_numbered_from_one_and_timed_by_the_chunk_that_ends_them():
    splitter = LineSplitter()
    found = [*splitter.feed(b"a\nb", 1.0), *splitter.feed(b"c\nd", 2.0), *splitter.flush(3.0)]
    assert [(line.number, line.time) for line in found] == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert [line.text for line in found] == ["a", "bc", "d"]


def test_lines_that_nobody_timed_came_at_zero():
    assert {line.time for line in lines(b"a\nb")} == {0.0}


def test_a_last_line_without_a_line_end_is_read():
    (line,) = lines(b"AllocateTensors() failed")
    assert (line.text, line.complete) == ("AllocateTensors() failed", False)
    assert lines(b"a\n\r\r") == lines(b"a\n")


@pytest.mark.parametrize(
    "length", [LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST, 3 * LONGEST + 5]
)
@pytest.mark.parametrize("ended", [True, False])
def test_a_long_line_is_cut_and_loses_nothing(length, ended):
    data = bytes(97 + i % 26 for i in range(length)) + b"\n" * ended
    found = lines(data)
    assert b"".join(line.raw for line in found) == data.rstrip(b"\n")
    assert all(len(line.raw) <= LONGEST for line in found)
    assert [line.complete for line in found] == [False] * (len(found) - 1) + [ended]
    assert len(found) == -(-length // LONGEST)


def test_a_long_line_is_not_cut_within_a_character():
    found = lines(("a" + "é" * LONGEST + "\n").encode())
    assert "".join(line.text for line in found) == "a" + "é" * LONGEST


def test_a_line_gives_way_to_a_character_by_three_bytes_at_most():
    found = lines(b"\x80" * (LONGEST + 100))
    assert sum(len(line.raw) for line in found[:4]) == LONGEST - 3


def test_what_is_no_text_fills_its_lines():
    found = lines(b"\xff" * LONGEST + b"\n")
    assert [len(line.text) for line in found] == [LONGEST] * 4
    assert [line.number for line in found] == [1, 2, 3, 4]


@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"\x80", b"\x1b"])
def test_what_is_no_text_does_not_grow_beyond_the_longest_line(byte):
    found = lines(byte * (3 * LONGEST) + b"\n")
    assert all(len(line.text) <= LONGEST for line in found)
    assert b"".join(line.raw for line in found) == byte * (3 * LONGEST)
    assert [line.complete for line in found] == [False] * (len(found) - 1) + [True]


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=20),
            st.sampled_from([b"\n", b"\r\n", b"x" * LONGEST, b"\xff" * 5000, b"\xc3\xa9" * 4500]),
        ),
        max_size=8,
    ),
    st.lists(st.integers(0, 60_000), max_size=6),
)
def test_lines_are_the_same_wherever_the_chunks_borders_lie(parts, cuts):
    data = b"".join(parts)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    chunks = [data[start:stop] for start, stop in itertools.pairwise(edges)]
    assert lines(*chunks) == lines(data)
