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


def test_colours_are_removed_and_tabs_kept():
    assert texts(b"\x1b[1;31merr\x1b[0m\tx\r\r\n") == ["err\tx"]


def test_control_sequences_are_escaped():
    assert texts(b"\x1b]0;title\x07a\x00\rb\x7f\xc2\x9b1m\n") == [
        "\\x1b]0;title\\x07a\\x00\\x0db\\x7f\\x9b1m"
    ]


def test_utf_8_is_kept_and_other_bytes_are_escaped():
    assert texts("Grüße \t日本\n".encode()) == ["Grüße \t日本"]
    assert texts("Grüße\n".encode("latin-1")) == ["Gr\\xfc\\xdfe"]
    assert texts(b"\x1b[31mred\x1b[0m \xff\n") == ["red \\xff"]


def shown(code: int) -> str:
    return chr(code) if code == 9 or 32 <= code < 127 else f"\\x{code:02x}"


def codes(count: int) -> list[int]:
    return [code for code in range(count) if code != 10]


def test_printable_ascii_and_tabs_are_kept():
    for code in codes(128):
        assert texts(bytes([code]) + b".\n") == [shown(code) + "."]


def test_a_line_that_is_not_utf_8_keeps_only_ascii():
    for code in codes(256):
        assert texts(bytes([code]) + b".\xff\n") == [shown(code) + ".\\xff"]


def test_unicode_control_characters_are_escaped():
    for code in codes(160):
        assert texts(f"{chr(code)}ü\n".encode()) == [shown(code) + "ü"]


def test_no_break_space_is_kept():
    assert texts("1\xa0000\n".encode()) == ["1\xa0000"]


@given(st.binary(max_size=200))
def test_no_input_byte_yields_a_control_character(data):
    for text in texts(data):
        assert all(char == "\t" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in text)


def test_lines_are_numbered_from_one_and_timed_by_the_chunk_that_ends_them():
    splitter = LineSplitter()
    found = [*splitter.feed(b"a\nb", 1.0), *splitter.feed(b"c\nd", 2.0), *splitter.flush(3.0)]
    assert [(line.number, line.time) for line in found] == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert [line.text for line in found] == ["a", "bc", "d"]


def test_lines_without_a_time_stamp_have_time_zero():
    assert {line.time for line in lines(b"a\nb")} == {0.0}


def test_a_last_line_without_a_line_end_is_read():
    (line,) = lines(b"AllocateTensors() failed")
    assert line.text == "AllocateTensors() failed"
    assert lines(b"a\n\r\r") == lines(b"a\n")


@pytest.mark.parametrize(
    "length", [LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST, 3 * LONGEST + 5]
)
@pytest.mark.parametrize("ended", [True, False])
def test_a_long_line_is_split_without_loss(length, ended):
    data = bytes(97 + i % 26 for i in range(length)) + b"\n" * ended
    found = lines(data)
    assert b"".join(line.raw for line in found) == data.rstrip(b"\n")
    assert all(len(line.raw) <= LONGEST for line in found)
    assert len(found) == -(-length // LONGEST)


def test_a_long_line_is_not_split_within_a_character():
    found = lines(("a" + "é" * LONGEST + "\n").encode())
    assert "".join(line.text for line in found) == "a" + "é" * LONGEST


def test_a_split_line_is_at_most_three_bytes_shorter():
    found = lines(b"\x80" * (LONGEST + 100))
    assert sum(len(line.raw) for line in found[:4]) == LONGEST - 3


def test_binary_data_fills_lines_to_the_limit():
    found = lines(b"\xff" * LONGEST + b"\n")
    assert [len(line.text) for line in found] == [LONGEST] * 4
    assert [line.number for line in found] == [1, 2, 3, 4]


@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"\x80", b"\x1b"])
def test_escaped_binary_data_stays_within_the_longest_line(byte):
    found = lines(byte * (3 * LONGEST) + b"\n")
    assert all(len(line.text) <= LONGEST for line in found)
    assert b"".join(line.raw for line in found) == byte * (3 * LONGEST)


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
def test_lines_do_not_depend_on_chunk_borders(parts, cuts):
    data = b"".join(parts)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    chunks = [data[start:stop] for start, stop in itertools.pairwise(edges)]
    assert lines(*chunks) == lines(data)
