"""The console as it comes."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from harness.uart import Console
from harness.uart.echo import Echo
from harness.uart.recording import Recording


def _shown(*parts: bytes) -> str:
    stream = io.StringIO()
    echo = Echo(stream)
    for part in parts:
        echo(part)
    return stream.getvalue()


def test_text_is_shown_at_once() -> None:
    stream = io.StringIO()
    console = Console(recording=Recording(echo=Echo(stream)))
    console.feed(b"half a li")
    assert stream.getvalue() == "half a li"


def test_a_character_that_is_cut_is_shown_once_it_is_whole() -> None:
    assert _shown("µ".encode()[:1], "µ".encode()[1:] + b"s\r\n") == "µs\n"


def test_a_terminal_obeys_nothing_that_a_device_sends() -> None:
    assert _shown(b"\x1b[2J\x1b]0;title\x07\xc2\x9b1A\tok\n") == (
        "\\x1b[2J\\x1b]0;title\\x07\\x9b1A\tok\n"
    )


def test_what_is_not_text_is_shown_as_escapes() -> None:
    assert _shown(b"\xff\xfe ok") == "\\xff\\xfe ok"


@given(st.binary(max_size=40), st.integers(0, 40))
def test_a_cut_anywhere_changes_nothing(data: bytes, at: int) -> None:
    assert _shown(data[:at], data[at:]) == _shown(data)
