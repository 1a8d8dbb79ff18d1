"""RTC0 and RTC1 (nRF9160 PS, "RTC"): 24 bits of 32 768 Hz / (PRESCALER + 1)."""

from __future__ import annotations

import pytest
from bare_chip import BareChip, Peripheral

BASE = 0x5001_4000
START, STOP, CLEAR, TRIGOVRFLW = 0x000, 0x004, 0x008, 0x00C
TICK, OVRFLW, COMPARE = 0x100, 0x104, 0x140
INTENSET, INTENCLR, EVTEN, EVTENSET, EVTENCLR = 0x304, 0x308, 0x340, 0x344, 0x348
COUNTER, PRESCALER, CC = 0x504, 0x508, 0x540
ISPR, IRQ = 0xE000_E200, 20
TICK_BIT, OVRFLW_BIT, COMPARE_BIT = 1 << 0, 1 << 1, 1 << 16
CHANNELS = range(4)


def edge(number: int) -> int:
    """The CPU's tick in which an edge of LFCLK lies: the first one at or after it."""
    return -(-number * 64_000_000 // 32_768)


class Rtc(Peripheral):
    """RTC0, in edges of LFCLK since power-on."""

    def until(self, number: int) -> None:
        """Time passes until an edge."""
        self.chip.wait(edge(number) - self.chip.now)

    def events(self) -> list[str]:
        names = {TICK: "tick", OVRFLW: "overflow"}
        names |= {COMPARE + 4 * n: f"compare {n}" for n in CHANNELS}
        return [name for offset, name in names.items() if self[offset]]


@pytest.fixture
def rtc(chip: BareChip) -> Rtc:
    return Rtc(chip, BASE)


@pytest.mark.slow
@pytest.mark.parametrize("prescaler", [0, 1, 32, 0xFFF])
def test_it_counts_edges_divided_by_the_prescaler(rtc: Rtc, prescaler: int) -> None:
    rtc[PRESCALER] = prescaler
    rtc[START] = 1
    rtc.until(3 * (prescaler + 1))
    assert rtc[COUNTER] == 3
    rtc.chip.wait(-1 + edge(4 * (prescaler + 1)) - rtc.chip.now)
    assert rtc[COUNTER] == 3
    rtc.chip.wait(1)
    assert rtc[COUNTER] == 4


def test_the_prescaler_has_twelve_bits_and_is_kept_while_it_runs(rtc: Rtc) -> None:
    rtc[PRESCALER] = 0x1_F123
    assert rtc[PRESCALER] == 0x123
    rtc[START] = 1
    rtc[PRESCALER] = 7
    assert rtc[PRESCALER] == 0x123
    rtc[STOP] = 1
    rtc[PRESCALER] = 7
    assert rtc[PRESCALER] == 7


def test_stop_holds_the_counter_start_goes_on_and_clear_begins_anew(rtc: Rtc) -> None:
    rtc[START] = 1
    rtc.until(100)
    rtc[STOP] = 1
    rtc.until(150)
    assert rtc[COUNTER] == 100
    rtc[START] = 1
    rtc.until(160)
    rtc[START] = 1
    rtc.until(170)
    assert rtc[COUNTER] == 120
    rtc[CLEAR] = 1
    rtc.until(175)
    assert rtc[COUNTER] == 5


@pytest.mark.slow
def test_trigovrflw_stands_shortly_before_the_overflow(rtc: Rtc) -> None:
    rtc[START] = 1
    rtc[EVTENSET] = OVRFLW_BIT
    rtc[TRIGOVRFLW] = 1
    assert rtc[COUNTER] == 0xFF_FFF0
    rtc.until(15)
    assert rtc[COUNTER] == 0xFF_FFFF
    assert rtc.events() == []
    rtc.until(16)
    assert rtc[COUNTER] == 0
    assert rtc.events() == ["overflow"]
    rtc[OVRFLW] = 0
    rtc.until(1000)
    assert rtc.events() == []


def test_the_counter_overflows_every_24_bits(rtc: Rtc) -> None:
    rtc[EVTENSET] = OVRFLW_BIT
    rtc[START] = 1
    rtc.until((1 << 24) + 3)
    assert rtc[COUNTER] == 3
    assert rtc.events() == ["overflow"]
    rtc[OVRFLW] = 0
    rtc.until((2 << 24) - 1)
    assert rtc.events() == []
    rtc.until(2 << 24)
    assert rtc.events() == ["overflow"]


def test_tick_comes_with_each_count(rtc: Rtc) -> None:
    rtc[PRESCALER] = 1
    rtc[EVTENSET] = TICK_BIT
    rtc[START] = 1
    for count in range(1, 5):
        rtc.until(2 * count)
        assert rtc.events() == ["tick"]
        rtc[TICK] = 0
        rtc.until(2 * count + 1)
        assert rtc.events() == []


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("enable", [EVTENSET, INTENSET])
def test_compare_is_raised_at_its_count_where_events_or_interrupts_ask_for_it(
    rtc: Rtc, channel: int, enable: int
) -> None:
    rtc[CC + 4 * channel] = 50
    rtc[enable] = COMPARE_BIT << channel
    rtc[START] = 1
    rtc.until(49)
    assert rtc.events() == []
    rtc.until(50)
    assert rtc.events() == [f"compare {channel}"]
    assert rtc.chip.read(ISPR) >> IRQ & 1 == (enable == INTENSET)


@pytest.mark.parametrize("asked_for", [False, True])
def test_an_event_without_evten_or_inten_is_not_raised(rtc: Rtc, asked_for: bool) -> None:
    rtc[CC] = 50
    rtc[START] = 1
    if asked_for:
        rtc[EVTENSET] = COMPARE_BIT
        rtc[EVTENCLR] = COMPARE_BIT
        rtc[INTENSET] = COMPARE_BIT
        rtc[INTENCLR] = COMPARE_BIT
    rtc.until(100)
    assert rtc.events() == []


@pytest.mark.slow
def test_evten_is_set_and_cleared_bit_by_bit(rtc: Rtc) -> None:
    rtc[EVTENSET] = OVRFLW_BIT | TICK_BIT
    rtc[EVTENSET] = OVRFLW_BIT | 0xF << 16
    rtc[EVTENCLR] = TICK_BIT | 1 << 17 | 1 << 20
    wanted = OVRFLW_BIT | 0xD << 16
    assert [rtc[at] for at in (EVTEN, EVTENSET, EVTENCLR)] == [wanted] * 3
    rtc[EVTEN] = TICK_BIT
    assert [rtc[at] for at in (EVTEN, EVTENSET, EVTENCLR)] == [TICK_BIT] * 3


@pytest.mark.parametrize(("value", "due"), [(21, 21), (20, 20 + (1 << 24)), (19, 19 + (1 << 24))])
def test_a_compare_value_not_ahead_of_the_counter_is_met_a_turn_later(
    rtc: Rtc, value: int, due: int
) -> None:
    rtc[EVTENSET] = COMPARE_BIT
    rtc[START] = 1
    rtc.until(20)
    rtc[CC] = value
    rtc.until(due - 1)
    assert rtc.events() == []
    rtc.until(due)
    assert rtc.events() == ["compare 0"]


def test_compare_comes_once_a_turn(rtc: Rtc) -> None:
    rtc[CC], rtc[EVTENSET] = 5, COMPARE_BIT
    rtc[START] = 1
    rtc.until(5)
    rtc[COMPARE] = 0
    rtc.until(4 + (1 << 24))
    assert rtc.events() == []
    rtc.until(5 + (1 << 24))
    assert rtc.events() == ["compare 0"]


@pytest.mark.slow
def test_a_compare_register_has_24_bits(rtc: Rtc) -> None:
    rtc[CC + 8] = 0xAB12_3456
    assert rtc[CC + 8] == 0x12_3456


def test_clearing_moves_the_events_that_lie_ahead(rtc: Rtc) -> None:
    rtc[CC], rtc[EVTENSET] = 50, COMPARE_BIT
    rtc[PRESCALER] = 1
    rtc[START] = 1
    rtc.until(60)
    rtc[CLEAR] = 1
    rtc.until(159)
    assert rtc.events() == []
    rtc.until(160)
    assert rtc.events() == ["compare 0"]


def test_a_stopped_counter_raises_nothing(rtc: Rtc) -> None:
    rtc[CC], rtc[EVTENSET] = 50, COMPARE_BIT | TICK_BIT
    rtc[START] = 1
    rtc[STOP] = 1
    rtc.until(100)
    assert rtc.events() == []


def test_a_reset_stops_and_clears(rtc: Rtc) -> None:
    rtc[CC], rtc[EVTENSET] = 50, COMPARE_BIT
    rtc[START] = 1
    rtc.until(10)
    rtc.chip.machine.reset()
    rtc.until(100)
    assert rtc[COUNTER] == 0
    assert rtc.events() == []
    rtc[START] = 1
    rtc.until(105)
    assert rtc[COUNTER] == 5
