"""The serial line of a virtual board."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.targets.board.virtual.line import SerialLine


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


@given(st.binary(max_size=2000))
def test_every_byte_is_carried(data):
    clock = Clock()
    line = SerialLine(1_000_000, now=clock)
    line.push(data)
    got = b""
    for clock.time in range(1, 2 + len(data)):
        got += line.due()
    assert got == data


def test_bytes_take_their_time():
    clock = Clock()
    line = SerialLine(115200, now=clock)
    line.push(bytes(2000))
    sent = len(line.due())
    for _ in range(100):
        clock.time += 0.001
        sent += len(line.due())
    assert 1140 <= sent <= 1160 + 230  # 0.1 s, and the 20 ms that a line may have saved up


def test_a_byte_takes_ten_bits_and_an_idle_line_saves_up_20_milliseconds():
    clock = Clock()
    line = SerialLine(1200, now=clock)  # a byte in 8.3 ms
    line.push(bytes(range(10)))
    said = []
    for clock.time in (5.0, 5.004, 5.0055, 5.0125, 5.014, 5.5):
        said.append(line.due())
    assert said == [b"\x00\x01", b"", b"\x02", b"", b"\x03", b"\x04\x05"]
    assert line.waiting == 4


def test_reset_drops_unsent_bytes():
    line = SerialLine(1_000_000, now=Clock())
    line.push(b"ab")
    line.clear()
    assert (line.waiting, line.due()) == (0, b"")
