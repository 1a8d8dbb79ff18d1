"""The wire of a virtual board."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.targets.board.counts import not_text
from harness.targets.board.virtual import misbehaviour
from harness.targets.board.virtual.line import Line, resample
from harness.targets.board.virtual.misbehaviour import Misbehaviour

GOOD = Misbehaviour()


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


def carry(data, wrong):
    clock = Clock()
    line = Line(1_000_000, now=clock)
    line.push(data, wrong)
    clock.time = 0.01
    got = b""
    for _ in range(100 + len(data)):
        got += line.due()
        clock.time += 0.01
    return got


@given(st.binary(max_size=2000))
def test_a_good_line_carries_every_byte(data):
    assert carry(data, GOOD) == data


def test_bytes_take_their_time():
    clock = Clock()
    line = Line(115200, now=clock)
    line.push(bytes(2000), GOOD)
    sent = len(line.due())
    for _ in range(100):
        clock.time += 0.001
        sent += len(line.due())
    assert 1140 <= sent <= 1160 + 230  # 0.1 s, and the 20 ms that a line may have saved up


def test_every_nth_byte_is_dropped_repeated_or_flipped():
    data = bytes(range(1, 101))
    assert carry(data, Misbehaviour(drop=10)) == bytes(b for b in data if b % 10)
    assert len(carry(data, Misbehaviour(repeat=10))) == 110
    flipped = carry(data, Misbehaviour(flip=10))
    assert [i + 1 for i in range(100) if flipped[i] != data[i]] == list(range(10, 101, 10))
    assert carry(data, Misbehaviour(silent=1)) == b""


@given(st.binary(max_size=200), st.sampled_from([9600, 115200, 1_000_000]))
def test_equal_rates_hear_what_was_sent(data, rate):
    assert resample(data, rate, rate) == data


@given(st.binary(max_size=200))
def test_a_rate_that_is_2_percent_off_is_still_heard(data):
    assert resample(data, 117500, 115200) == data


@pytest.mark.parametrize("read", [9600, 57600, 230400, 460800])
def test_text_at_a_wrong_rate_is_no_text(read):
    data = b"*** Booting Zephyr OS build v3.7.0 ***\r\nx_value: 1.25, y_value: 0.94\r\n" * 4
    heard = resample(data, 115200, read)
    assert not_text(heard) >= 0.2 * len(heard) > 0


@given(st.binary(max_size=300), st.integers(300, 2_000_000), st.integers(300, 2_000_000))
def test_any_two_rates_end(data, sent, read):
    resample(data, sent, read)


def test_misbehaviours_are_read_from_words():
    assert misbehaviour.parse(["unplug-after=300", "silent"]) == Misbehaviour(
        unplug_after=300, silent=1
    )


@pytest.mark.parametrize("word", ["explode", "flip=many", "flip=-1"])
def test_other_words_are_refused(word):
    with pytest.raises(UsageError):
        misbehaviour.parse([word])
