"""Console bytes as text that can be shown anywhere."""

from hypothesis import given
from hypothesis import strategies as st

from harness.uart import LineSplitter


def texts(data: bytes) -> list[str]:
    splitter = LineSplitter()
    return [line.text for line in (*splitter.feed(data), *splitter.flush())]


def test_colours_go_and_tabs_stay():
    assert texts(b"\x1b[1;31merr\x1b[0m\tx\r\r\n") == ["err\tx"]


def test_what_a_terminal_would_obey_is_shown_and_not_passed_on():
    assert texts(b"\x1b]0;title\x07a\x00\rb\x7f\xc2\x9b1m\n") == [
        "\\x1b]0;title\\x07a\\x00\\x0db\\x7f\\x9b1m"
    ]


@given(st.binary(max_size=200))
def test_no_byte_gives_a_control_character(data):
    for text in texts(data):
        assert all(char == "\t" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in text)
