"""RTC0 and RTC1 (nRF9160 PS, "RTC"): 24 bits of 32 768 Hz / (PRESCALER + 1)."""

from __future__ import annotations

import pytest
from bare_chip import LFCLK_EDGE, BareChip, Peripheral

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
    return LFCLK_EDGE + -(-number * 64_000_000 // 32_768)


class Rtc(Peripheral):
    """RTC0, in edges of LFCLK since the test began."""

    def until(self, number: int) -> None:
        """Time passes until an edge."""
        self.chip.wait(edge(number) - self.chip.now)

    def events(self) -> list[str]:
        names = {TICK: "tick", OVRFLW: "overflow"}
        names |= {COMPARE + 4 * n: f"compare {n}" for n in CHANNELS}
        return [name for offset, name in names.items() if self[offset]]


@pytest.fixture
def rtc(chip: BareChip) -> Rtc:
    chip.start_lfclk()
    return Rtc(chip, BASE)


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


def test_evten_is_set_and_cleared_bit_by_bit(rtc: Rtc) -> None:
    rtc[EVTENSET] = OVRFLW_BIT | TICK_BIT
    rtc[EVTENSET] = OVRFLW_BIT | 0xF << 16
    rtc[EVTENCLR] = TICK_BIT | 1 << 17 | 1 << 20
    wanted = OVRFLW_BIT | 0xD << 16
    assert [rtc[at] for at in (EVTEN, EVTENSET, EVTENCLR)] == [wanted] * 3
    rtc[EVTEN] = TICK_BIT
    assert [rtc[at] for at in (EVTEN, EVTENSET, EVTENCLR)] == [TICK_BIT] * 3


@pytest.mark.parametrize("value", [22, 21, 20, 19])
def test_a_compare_value_not_ahead_of_the_counter_is_met_a_turn_later(rtc: Rtc, value: int) -> None:
    """One ahead may be missed, two are not (PS, "COMPARE")."""
    due = value if value > 21 else value + (1 << 24)
    rtc[EVTENSET] = COMPARE_BIT
    rtc[START] = 1
    rtc.until(20)
    rtc[CC] = value
    rtc.until(due - 1)
    assert rtc.events() == []
    rtc.until(due)
    assert rtc.events() == ["compare 0"]


def kinds(rtc: Rtc) -> list[str]:
    return [f"{finding.kind} {finding.subject}" for finding in rtc.chip.machine.findings]


@pytest.mark.parametrize(("ahead", "named"), [(2, False), (1, True), (0, True), (-1, False)])
@pytest.mark.parametrize("enable", [EVTENSET, INTENSET])
def test_relying_on_a_compare_value_too_close_is_a_finding(
    rtc: Rtc, ahead: int, named: bool, enable: int
) -> None:
    rtc[START] = 1
    rtc.until(20)
    rtc[CC + 8] = 20 + ahead
    rtc[enable] = COMPARE_BIT << 2
    rtc.until(20 + 60)
    assert kinds(rtc) == []
    rtc.until(20 + 70)
    assert kinds(rtc) == ["rtc_compare_too_close RTC0.CC[2]"] * named
    if named:
        assert f"0x{20 + ahead:x} while COUNTER was 0x14" in rtc.chip.machine.findings[0].message


@pytest.mark.parametrize(
    "repair",
    [{CC: 25}, {EVTENCLR: COMPARE_BIT}, {STOP: 1}, {CLEAR: 1}],
    ids=["moved", "disabled", "stopped", "cleared"],
)
def test_a_driver_that_repairs_what_was_missed_relies_on_nothing(
    rtc: Rtc, repair: dict[int, int]
) -> None:
    """As Zephyr's does, which looks at COUNTER after it wrote CC."""
    rtc[EVTENSET] = COMPARE_BIT
    rtc[START] = 1
    rtc.until(20)
    rtc[CC] = 21
    rtc.until(22)
    for offset, value in repair.items():
        rtc[offset] = value
    rtc.until(200)
    assert kinds(rtc) == []
    assert rtc.events() == ["compare 0"] * (CC in repair or CLEAR in repair)


def test_a_value_written_before_the_start_is_met(rtc: Rtc) -> None:
    rtc[CC], rtc[EVTENSET] = 1, COMPARE_BIT
    rtc[START] = 1
    rtc.until(200)
    assert (rtc.events(), kinds(rtc)) == (["compare 0"], [])


# the clock

LFCLKSTART, LFCLKSTOP, LFCLKSRC = 0x5000_5008, 0x5000_500C, 0x5000_5518


def test_it_stands_until_lfclk_runs(chip: BareChip) -> None:
    """Which is when LFRC does, also on the way to LFXO."""
    rtc = Rtc(chip, BASE)
    rtc[EVTENSET] = TICK_BIT
    rtc[START] = 1
    chip.wait(100)
    chip.write(LFCLKSRC, 2)
    chip.write(LFCLKSTART, 1)
    chip.wait(600 * 64)
    assert (rtc[COUNTER], rtc.events()) == (0, [])
    rtc.until(0)
    assert rtc[COUNTER] == 64 - (100 + 600 * 64) * 32_768 // 64_000_000
    assert (rtc.events(), kinds(rtc)) == (["tick"], [])


@pytest.mark.parametrize("wanted", [0, COMPARE_BIT])
def test_nobody_starting_lfclk_is_a_finding(chip: BareChip, wanted: int) -> None:
    rtc = Rtc(chip, BASE)
    rtc[CC], rtc[EVTENSET] = 50, wanted
    rtc[START] = 1
    rtc.until(100)
    assert (rtc[COUNTER], rtc.events()) == (0, [])
    assert kinds(rtc) == ["clock_not_running RTC0"]


@pytest.mark.parametrize("wanted", [0, COMPARE_BIT])
def test_it_stands_while_lfclk_is_stopped(rtc: Rtc, wanted: int) -> None:
    """A finding only if it was to raise an event."""
    rtc[CC], rtc[EVTENSET] = 50, wanted
    rtc[START] = 1
    rtc.until(30)
    rtc.chip.write(LFCLKSTOP, 1)
    rtc.until(200)
    assert (rtc[COUNTER], rtc.events()) == (30, [])
    assert kinds(rtc) == ["clock_not_running RTC0"] * bool(wanted)
    rtc.chip.write(LFCLKSTART, 1)
    rtc.until(200 + 40)
    assert rtc.events() == ["compare 0"] * bool(wanted)


def test_compare_comes_once_a_turn(rtc: Rtc) -> None:
    rtc[CC], rtc[EVTENSET] = 5, COMPARE_BIT
    rtc[START] = 1
    rtc.until(5)
    rtc[COMPARE] = 0
    rtc.until(4 + (1 << 24))
    assert rtc.events() == []
    rtc.until(5 + (1 << 24))
    assert rtc.events() == ["compare 0"]


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
    rtc.chip.write(LFCLKSTART, 1)
    rtc.until(200)
    rtc[START] = 1
    rtc.until(205)
    assert rtc[COUNTER] == 5
