"""TIMER0 to TIMER2 (nRF9160 PS, "TIMER"): 16 MHz / 2^PRESCALER, or counting COUNT tasks."""

from __future__ import annotations

import pytest
from bare_chip import BareChip, Peripheral

BASE = 0x5000_F000
START, STOP, COUNT, CLEAR, SHUTDOWN, CAPTURE = 0x000, 0x004, 0x008, 0x00C, 0x010, 0x040
COMPARE, SHORTS, MODE, BITMODE, PRESCALER, CC = 0x140, 0x200, 0x504, 0x508, 0x510, 0x540
INTENSET, ISPR, IRQ = 0x304, 0xE000_E200, 15
TICKS = 4  # of the CPU, 64 MHz, a tick of 16 MHz
COUNTER_MODE, LOW_POWER_COUNTER_MODE = 1, 2
BITS_16, BITS_8, BITS_24, BITS_32 = range(4)
CHANNELS = range(6)


class Timer(Peripheral):
    """TIMER0."""

    def begin(self, bits: int = BITS_32, prescaler: int = 0, mode: int = 0) -> None:
        self[MODE], self[BITMODE], self[PRESCALER] = mode, bits, prescaler
        self[START] = 1

    def now(self, channel: int = 5) -> int:
        """The counter, captured."""
        self[CAPTURE + 4 * channel] = 1
        return self[CC + 4 * channel]

    def count(self, counts: int) -> None:
        """So many counts without a prescaler go by."""
        self.chip.wait(counts * TICKS)

    def events(self) -> list[int]:
        return [n for n in CHANNELS if self[COMPARE + 4 * n]]


@pytest.fixture
def timer(chip: BareChip) -> Timer:
    return Timer(chip, BASE)


@pytest.mark.parametrize("prescaler", range(10))
def test_it_counts_16_mhz_divided_by_a_power_of_two(timer: Timer, prescaler: int) -> None:
    timer.begin(prescaler=prescaler)
    timer.chip.wait((7 * TICKS << prescaler) - 1)
    assert timer.now() == 6
    timer.chip.wait(1)
    assert timer.now() == 7


def test_out_of_reset_it_counts_microseconds_in_16_bits(timer: Timer) -> None:
    timer[START] = 1
    timer.chip.wait(64 * (0x1_0000 + 5))
    assert timer.now() == 5


@pytest.mark.parametrize(
    ("bits", "width"), [(BITS_8, 8), (BITS_16, 16), (BITS_24, 24), (BITS_32, 32)]
)
def test_it_wraps_at_its_width(timer: Timer, bits: int, width: int) -> None:
    timer.begin(bits)
    timer.count((1 << width) - 1)
    assert timer.now() == (1 << width) - 1
    timer.count(3)
    assert timer.now() == 2


@pytest.mark.parametrize("channel", CHANNELS)
def test_capture_copies_the_counter_into_its_own_register(timer: Timer, channel: int) -> None:
    timer.begin()
    timer.count(1000)
    assert timer.now(channel) == 1000
    assert [timer[CC + 4 * n] for n in CHANNELS] == [1000 * (n == channel) for n in CHANNELS]


def test_stop_holds_the_counter_and_start_goes_on(timer: Timer) -> None:
    timer.begin()
    timer.count(100)
    timer[STOP] = 1
    timer.count(50)
    assert timer.now() == 100
    timer[START] = 1
    timer.count(10)
    timer[START] = 1  # it runs already
    timer.count(10)
    assert timer.now() == 120


def test_clear_begins_at_zero_whether_it_runs_or_not(timer: Timer) -> None:
    timer.begin()
    timer.count(100)
    timer[CLEAR] = 1
    timer.count(7)
    assert timer.now() == 7
    timer[STOP] = 1
    timer[CLEAR] = 1
    timer.count(7)
    assert timer.now() == 0


def test_shutdown_stops_and_clears(timer: Timer) -> None:
    timer.begin()
    timer.count(100)
    timer[SHUTDOWN] = 1
    timer.count(100)
    assert timer.now() == 0
    timer[START] = 1
    timer.count(3)
    assert timer.now() == 3


@pytest.mark.parametrize("channel", CHANNELS)
def test_compare_is_raised_at_the_count_and_not_before(timer: Timer, channel: int) -> None:
    timer[CC + 4 * channel] = 100
    timer.begin()
    timer.chip.wait(100 * TICKS - 1)
    assert timer.events() == []
    timer.chip.wait(1)
    assert timer.events() == [channel]


def test_compare_comes_once_a_turn(timer: Timer) -> None:
    timer[CC] = 3
    timer.begin(BITS_8)
    timer.count(3)
    for _ in range(3):
        assert timer[COMPARE] == 1
        timer[COMPARE] = 0
        timer.count(255)
        assert timer[COMPARE] == 0
        timer.count(1)


@pytest.mark.parametrize(("target", "ahead"), [(49, 255), (50, 256), (51, 1), (0x151, 31)])
def test_a_compare_value_behind_the_counter_is_met_in_the_next_turn(
    timer: Timer, target: int, ahead: int
) -> None:
    """Of a compare register only the bits of the timer's width count."""
    timer.begin(BITS_8)
    timer.count(50)
    timer[CC] = target
    timer.count(ahead - 1)
    assert timer[COMPARE] == 0
    timer.count(1)
    assert timer[COMPARE] == 1


def test_a_removed_compare_value_raises_no_event(timer: Timer) -> None:
    timer[CC] = 10
    timer.begin()
    timer.count(5)
    timer[CC] = 20
    timer.count(10)
    assert timer.events() == []
    timer.count(5)
    assert timer.events() == [0]


def test_a_timer_that_was_stopped_meets_nothing(timer: Timer) -> None:
    timer[CC] = 10
    timer.begin()
    timer.count(5)
    timer[STOP] = 1
    timer.count(100)
    assert timer.events() == []
    timer[START] = 1
    timer.count(5)
    assert timer.events() == [0]


@pytest.mark.parametrize("channel", CHANNELS)
def test_shorts_clear_or_stop_at_a_compare(timer: Timer, channel: int) -> None:
    timer[CC + 4 * channel] = 10
    timer[SHORTS] = 1 << channel
    timer.begin()
    timer.count(25)
    assert timer.now((channel + 1) % 6) == 5
    timer[SHORTS] = 1 << 8 + channel
    timer.count(100)
    assert timer.now((channel + 1) % 6) == 10


@pytest.mark.parametrize("shortcut", [1 << 0, 1 << 8, 1 << 1, 1 << 9])
def test_all_channels_of_a_count_match_before_its_shortcut(timer: Timer, shortcut: int) -> None:
    timer[CC], timer[CC + 4], timer[CC + 8] = 10, 10, 11
    timer[SHORTS] = shortcut
    timer.begin()
    timer.count(100)
    assert timer.events() == [0, 1]


def test_a_period_of_compare_and_clear_raises_an_interrupt_each_time(timer: Timer) -> None:
    timer[CC + 4], timer[SHORTS], timer[INTENSET] = 1000, 1 << 1, 1 << 17
    timer.begin()
    for _ in range(3):
        assert not timer.chip.read(ISPR) >> IRQ & 1
        timer.count(1000)
        assert timer.chip.read(ISPR) >> IRQ & 1
        timer[COMPARE + 4] = 0
        timer.chip.write(0xE000_E280, 1 << IRQ)


@pytest.mark.parametrize("mode", [COUNTER_MODE, LOW_POWER_COUNTER_MODE])
def test_as_a_counter_it_counts_tasks_and_not_time(timer: Timer, mode: int) -> None:
    timer[CC] = 3
    timer[COUNT] = 1  # not started yet
    timer.begin(BITS_8, mode=mode)
    timer.count(100)
    for expected in (1, 2, 3):
        assert timer.events() == []
        timer[COUNT] = 1
        assert timer.now() == expected
    assert 0 in timer.events()
    for _ in range(254):
        timer[COUNT] = 1
    assert timer.now() == 1


def test_as_a_timer_it_does_not_count_tasks(timer: Timer) -> None:
    timer.begin()
    timer[COUNT] = 1
    timer.count(3)
    timer[COUNT] = 1
    assert timer.now() == 3


def test_a_counter_that_is_stopped_keeps_its_count(timer: Timer) -> None:
    timer.begin(mode=COUNTER_MODE)
    timer[COUNT] = 1
    timer[STOP] = 1
    timer[COUNT] = 1
    assert timer.now() == 1


@pytest.mark.parametrize(
    ("register", "value", "then"),
    [(PRESCALER, 1, 105), (BITMODE, BITS_8, 110), (MODE, COUNTER_MODE, 100)],
)
def test_a_changed_prescaler_keeps_the_count(
    timer: Timer, register: int, value: int, then: int
) -> None:
    timer.begin()
    timer.count(100)
    timer[register] = value
    assert timer[register] == value
    timer.count(10)
    assert timer.now() == then


@pytest.mark.parametrize(("written", "as_if"), [(9, 9), (15, 9), (0x12, 2)])
def test_prescalers_are_four_bits_of_which_nine_is_the_largest(
    timer: Timer, written: int, as_if: int
) -> None:
    timer.begin(prescaler=written)
    timer.chip.wait(10 * TICKS << as_if)
    assert timer.now() == 10


def test_a_reset_stops_and_clears(timer: Timer) -> None:
    timer[CC] = 10
    timer.begin()
    timer.count(5)
    timer.chip.machine.reset()
    timer.count(100)
    assert timer.now() == 0
    assert timer.events() == []
    timer[START] = 1
    timer.chip.wait(64 * 2)
    assert timer.now() == 2
