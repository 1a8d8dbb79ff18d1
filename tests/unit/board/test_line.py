"""The wire of a virtual board."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.targets.board.session import not_text
from harness.targets.board.virtual import misbehaviour
from harness.targets.board.virtual.line import SerialLine, resample
from harness.targets.board.virtual.misbehaviour import Misbehaviour

GOOD = Misbehaviour()


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


def carry(data, wrong):
    clock = Clock()
    line = SerialLine(1_000_000, now=clock)
    line.push(data, wrong)
    clock.time = 0.01
    got = b""
    for _ in range(100 + len(data)):
        got += line.due()
        clock.time += 0.01
    return got


@given(st.binary(max_size=2000))
def test_a_line_without_misbehaviour_carries_every_byte(data):
    assert carry(data, GOOD) == data


def test_bytes_take_their_time():
    clock = Clock()
    line = SerialLine(115200, now=clock)
    line.push(bytes(2000), GOOD)
    sent = len(line.due())
    for _ in range(100):
        clock.time += 0.001
        sent += len(line.due())
    assert 1140 <= sent <= 1160 + 230  # 0.1 s, and the 20 ms that a line may have saved up


def test_a_byte_takes_ten_bits_and_an_idle_line_saves_up_20_milliseconds():
    clock = Clock()
    line = SerialLine(1200, now=clock)  # a byte in 8.3 ms
    line.push(bytes(range(10)), GOOD)
    said = []
    for clock.time in (5.0, 5.004, 5.0055, 5.0125, 5.014, 5.5):
        said.append(line.due())
    assert said == [b"\x00\x01", b"", b"\x02", b"", b"\x03", b"\x04\x05"]
    assert line.waiting == 4


def test_reset_drops_unsent_bytes_and_restarts_the_error_count():
    clock = Clock()
    line = SerialLine(1_000_000, now=clock)
    wrong = Misbehaviour(drop=3)
    line.push(b"ab", wrong)
    line.clear()
    assert (line.waiting, line.due()) == (0, b"")
    line.push(b"abcabc", wrong)
    clock.time = 1.0
    assert line.due() == b"abab"


def test_a_flipped_byte_has_another_bit_wrong_each_time():
    flipped = carry(bytes(16), Misbehaviour(flip=2))
    assert [byte for byte in flipped if byte] == [2, 4, 8, 16, 32, 64, 128, 1]


def test_errors_hit_every_nth_byte():
    data = b"abcdefghi"
    assert carry(data, Misbehaviour(drop=4)) == b"abcefgi"
    assert carry(data, Misbehaviour(repeat=4)) == b"abcddefghhi"
    assert carry(data, Misbehaviour(drop=1)) == b""
    assert carry(data, Misbehaviour(drop=4, flip=4, repeat=4)) == b"abcefgi"


@pytest.mark.parametrize(
    ("sent", "read", "data", "heard"),
    [
        (2, 1, b"\xff\xff", b"\xff"),  # two bytes' time for one: the second start bit is a data bit
        (1, 2, b"\x55", b"\x66\xe6"),  # each bit is heard twice; an edge inside begins another byte
        (1, 4, b"\x00", b"\x00"),  # what is low for so long begins no second one
        (3, 2, b"Hello", b"`|\xf9"),
    ],
)
def test_a_receiver_samples_the_middle_of_its_own_bits(sent, read, data, heard):
    assert resample(data, sent, read) == heard


def test_every_nth_byte_is_dropped_repeated_or_flipped():
    data = bytes(range(1, 101))
    assert carry(data, Misbehaviour(drop=10)) == bytes(b for b in data if b % 10)
    assert len(carry(data, Misbehaviour(repeat=10))) == 110
    flipped = carry(data, Misbehaviour(flip=10))
    assert [i + 1 for i in range(100) if flipped[i] != data[i]] == list(range(10, 101, 10))
    assert carry(data, Misbehaviour(silent=1)) == b""


@given(st.binary(max_size=200), st.sampled_from([9600, 115200, 1_000_000]))
def test_equal_rates_receive_the_sent_bytes(data, rate):
    assert resample(data, rate, rate) == data


@given(st.binary(max_size=200))
def test_rate_that_is_2_percent_off_is_received_correctly(data):
    assert resample(data, 117500, 115200) == data


@pytest.mark.parametrize("read", [9600, 57600, 230400, 460800])
def test_text_at_a_wrong_rate_is_garbage(read):
    data = b"*** Booting Zephyr OS build v3.7.0 ***\r\nx_value: 1.25, y_value: 0.94\r\n" * 4
    heard = resample(data, 115200, read)
    assert not_text(heard) >= 0.2 * len(heard) > 0


@given(st.binary(max_size=300), st.integers(300, 2_000_000), st.integers(300, 2_000_000))
def test_any_two_rates_end(data, sent, read):
    resample(data, sent, read)


def test_a_virtual_board_behaves_by_default():
    wrong = misbehaviour.parse([])
    assert {name: getattr(wrong, name) for name in misbehaviour.NAMES if getattr(wrong, name)} == {
        "gone": 500
    }


def test_counted_misbehaviour_ends_at_zero():
    wrong = Misbehaviour(flash_fails=2, flash_hangs=1)
    for left in (1, 0, 0):
        wrong = wrong.counted_down("flash_fails")
        assert (wrong.flash_fails, wrong.flash_hangs) == (left, 1)


def test_misbehaviours_are_parsed_from_text():
    assert misbehaviour.parse(["unplug-after=300", "silent"]) == Misbehaviour(
        unplug_after=300, silent=1
    )


@pytest.mark.parametrize("word", ["explode", "flip=many", "flip=-1"])
def test_unknown_misbehaviours_are_refused(word):
    with pytest.raises(UsageError):
        misbehaviour.parse([word])
