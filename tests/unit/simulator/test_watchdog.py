"""WDT (nRF9160 PS, "WDT"): CRV + 1 cycles of 32 768 Hz, and a reset unless all channels reload."""

from __future__ import annotations

import pytest
from bare_chip import BareChip, Peripheral

BASE = 0x5001_8000
START, TIMEOUT, RUNSTATUS, REQSTATUS = 0x000, 0x100, 0x400, 0x404
CRV, RREN, CONFIG, RR = 0x504, 0x508, 0x50C, 0x600
RELOAD = 0x6E52_4635
RESETREAS, DOG = 0x5000_5400, 1 << 1


def cycles(number: int) -> int:
    """CPU ticks that cycles of LFCLK last, rounded up."""
    return -(-number * 64_000_000 // 32_768)


class Watchdog(Peripheral):
    @property
    def resets(self) -> int:
        return self.chip.machine.resets


@pytest.fixture
def dog(chip: BareChip) -> Watchdog:
    chip.start_lfclk()
    return Watchdog(chip, BASE)


@pytest.mark.parametrize(("crv", "lasts"), [(99, 100), (15, 16), (14, 16), (0, 16)])
def test_the_watchdog_resets_two_cycles_after_its_timeout(
    dog: Watchdog, crv: int, lasts: int
) -> None:
    """The smallest reload value is 15."""
    dog[CRV] = crv
    dog[START] = 1
    dog.chip.wait(cycles(lasts) - 1)
    assert dog[TIMEOUT] == 0
    dog.chip.wait(1)
    assert dog[TIMEOUT] == 1
    dog.chip.wait(cycles(2) - 1)
    assert dog.resets == 0
    dog.chip.wait(1)
    assert dog.resets == 1
    assert dog.chip.read(RESETREAS) == DOG


def test_a_reload_begins_the_whole_time_again(dog: Watchdog) -> None:
    dog[CRV] = 99
    dog[START] = 1
    for _ in range(3):
        dog.chip.wait(cycles(90))
        dog[RR] = RELOAD
    dog.chip.wait(cycles(100) - 1)
    assert dog[TIMEOUT] == 0
    dog.chip.wait(1)
    assert dog[TIMEOUT] == 1


def test_the_watchdog_resets_a_sleeping_core(dog: Watchdog) -> None:
    place = 0x2000_1000
    dog.chip.machine.write_memory(place, bytes(4))
    dog[CRV] = 99
    dog[START] = 1
    dog.chip.play(0xBF30, 0x6001, steps=1, r0=place, r1=1)  # wfi; str r1, [r0]
    dog.chip.wait(cycles(103))
    assert dog.resets == 1
    assert dog.chip.words(place, 1) == [0]


def test_a_second_start_is_not_a_reload(dog: Watchdog) -> None:
    dog[CRV] = 99
    dog[START] = 1
    assert dog[RUNSTATUS] == 1
    dog.chip.wait(cycles(90))
    dog[START] = 1
    dog.chip.wait(cycles(10))
    assert dog[TIMEOUT] == 1


@pytest.mark.parametrize("value", [0, RELOAD ^ 1, RELOAD + 1])
def test_another_word_is_not_a_reload(dog: Watchdog, value: int) -> None:
    dog[CRV] = 99
    dog[START] = 1
    dog.chip.wait(cycles(90))
    dog[RR] = value
    dog.chip.wait(cycles(10))
    assert dog[TIMEOUT] == 1


def test_every_channel_that_is_enabled_must_reload(dog: Watchdog) -> None:
    dog[CRV], dog[RREN] = 99, 1 << 0 | 1 << 3 | 1 << 7
    dog[START] = 1
    assert dog[REQSTATUS] == 0b1000_1001
    dog.chip.wait(cycles(50))
    dog[RR + 4 * 3] = RELOAD
    dog[RR + 4 * 5] = RELOAD  # not asked for
    assert dog[REQSTATUS] == 0b1000_0001
    dog[RR + 4 * 7] = RELOAD
    assert dog[REQSTATUS] == 0b0000_0001
    dog[RR] = RELOAD
    assert dog[REQSTATUS] == 0b1000_1001
    dog.chip.wait(cycles(100) - 1)
    assert dog[TIMEOUT] == 0
    dog.chip.wait(1)
    assert dog[TIMEOUT] == 1


def test_it_is_configured_before_it_starts_and_not_after(dog: Watchdog) -> None:
    wanted = {CRV: 0x1234_5678, RREN: 0xA5, CONFIG: 9}
    for offset, value in wanted.items():
        dog[offset] = value
    dog[START] = 1
    for offset in wanted:
        dog[offset] = 0
    assert {offset: dog[offset] for offset in wanted} == wanted


def test_there_are_eight_channels(dog: Watchdog) -> None:
    dog[RREN] = 0xFFFF
    assert dog[RREN] == 0xFF


def test_reloads_before_the_start_are_ignored(dog: Watchdog) -> None:
    dog[RR] = RELOAD
    assert dog[REQSTATUS] == 1
    dog.chip.wait(cycles(1000))
    assert dog.resets == 0


def test_its_interrupt_comes_before_the_reset(dog: Watchdog) -> None:
    dog[CRV] = 15
    dog[0x304] = 1
    dog[START] = 1
    dog.chip.wait(cycles(16))
    assert dog.chip.read(0xE000_E200) >> 24 & 1


def test_the_reset_ends_its_run(dog: Watchdog) -> None:
    dog[CRV] = 15
    dog[START] = 1
    dog.chip.wait(cycles(100))
    assert dog.resets == 1
    assert dog[RUNSTATUS] == 0


def test_it_starts_the_rc_oscillator_by_itself(chip: BareChip) -> None:
    """Which takes 0.6 ms, and goes on when LFCLK is stopped (nRF5340 PS, "WDT")."""
    dog = Watchdog(chip, BASE)
    dog[CRV] = 99
    dog[START] = 1
    chip.write(0x5000_5008, 1)  # LFCLKSTART
    chip.write(0x5000_500C, 1)  # LFCLKSTOP
    chip.wait(600 * 64 + cycles(100) - 1)
    assert dog[TIMEOUT] == 0
    chip.wait(1)
    assert dog[TIMEOUT] == 1
    assert chip.machine.findings == []


@pytest.mark.parametrize(
    ("enabled", "writes", "why"),
    [
        (1, [], "it was not reloaded in time"),
        (1, [(0, RELOAD ^ 0x66)], "RR[0] was written with 0x6e524653, not 0x6e524635 (the key)"),
        (1, [(0, 0), (0, RELOAD)], "it was not reloaded in time"),
        (3, [(0, RELOAD)], "RR[1] of RREN (0x03) was not reloaded"),
        (7, [(1, RELOAD)], "RR[0], RR[2] of RREN (0x07) was not reloaded"),
        (1, [(1, RELOAD)], "RR[1] was reloaded, and RREN (0x01) does not enable it"),
    ],
)
def test_a_reset_is_told_with_what_was_wrong(
    dog: Watchdog, enabled: int, writes: list[tuple[int, int]], why: str
) -> None:
    dog[CRV], dog[RREN] = 99, enabled
    dog[START] = 1
    for index, value in writes:
        dog[RR + 4 * index] = value
    dog.chip.wait(cycles(200))
    (found,) = dog.chip.machine.findings
    assert found.message.startswith(f"the watchdog reset the chip: {why} (by ")
