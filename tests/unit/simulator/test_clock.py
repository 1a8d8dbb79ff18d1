"""CLOCK and POWER (nRF9160 PS): start-up times of oscillators, registers over a reset."""

from __future__ import annotations

import pytest
from bare_chip import BareChip, Peripheral

BASE = 0x5000_5000
HFCLKSTART, HFCLKSTOP, LFCLKSTART, LFCLKSTOP, CONSTLAT, LOWPWR = 0, 4, 8, 0xC, 0x78, 0x7C
HFCLKSTARTED, LFCLKSTARTED = 0x100, 0x104
RESETREAS, HFCLKRUN, HFCLKSTAT, LFCLKRUN, LFCLKSTAT = 0x400, 0x408, 0x40C, 0x414, 0x418
LFCLKSRCCOPY, LFCLKSRC, GPREGRET = 0x41C, 0x518, 0x51C
RUNNING = 1 << 16
LFRC, LFXO = 1, 2
MICROSECOND = 64  # ticks
PIN, SOFT = 1 << 0, 1 << 16


@pytest.fixture
def clock(chip: BareChip) -> Peripheral:
    return Peripheral(chip, BASE)


def test_the_crystal_oscillator_is_ready_after_its_start_up_time(clock: Peripheral) -> None:
    clock[HFCLKSTART] = 1
    assert (clock[HFCLKRUN], clock[HFCLKSTAT]) == (1, 0)
    clock.chip.wait(60 * MICROSECOND - 1)
    assert (clock[HFCLKSTARTED], clock[HFCLKSTAT]) == (0, 0)
    clock.chip.wait(1)
    assert (clock[HFCLKSTARTED], clock[HFCLKSTAT]) == (1, RUNNING | 1)
    assert clock[LFCLKSTARTED] == 0


@pytest.mark.parametrize(("source", "microseconds"), [(LFRC, 600), (LFXO, 250_000)])
def test_the_slow_clock_starts_from_its_source(
    clock: Peripheral, source: int, microseconds: int
) -> None:
    clock[LFCLKSRC] = source
    clock[LFCLKSTART] = 1
    assert (clock[LFCLKRUN], clock[LFCLKSRCCOPY], clock[LFCLKSTAT]) == (1, source, 0)
    clock[LFCLKSRC] = 0  # the copy counts
    clock.chip.wait(microseconds * MICROSECOND - 1)
    assert (clock[LFCLKSTARTED], clock[LFCLKSTAT]) == (0, 0)
    clock.chip.wait(1)
    assert (clock[LFCLKSTARTED], clock[LFCLKSTAT]) == (1, RUNNING | source)
    assert clock[HFCLKSTARTED] == 0


@pytest.mark.parametrize(
    ("start", "stop", "run", "stat", "started"),
    [
        (HFCLKSTART, HFCLKSTOP, HFCLKRUN, HFCLKSTAT, HFCLKSTARTED),
        (LFCLKSTART, LFCLKSTOP, LFCLKRUN, LFCLKSTAT, LFCLKSTARTED),
    ],
)
def test_a_clock_that_is_stopped_does_not_run_and_does_not_come_up(
    clock: Peripheral, start: int, stop: int, run: int, stat: int, started: int
) -> None:
    clock[start] = 1
    clock.chip.wait(MICROSECOND)
    clock[stop] = 1
    clock.chip.wait(1000 * MICROSECOND)
    assert (clock[run], clock[stat], clock[started]) == (0, 0, 0)
    clock[start] = 1
    clock.chip.wait(1000 * MICROSECOND)
    assert clock[stat] & RUNNING
    clock[stop] = 1
    assert (clock[run], clock[stat]) == (0, 0)


def test_latency_modes_are_accepted(clock: Peripheral) -> None:
    clock[CONSTLAT] = 1
    clock[LOWPWR] = 1
    assert clock.chip.machine.findings == []


def test_reset_reasons_add_up_until_ones_clear_them(clock: Peripheral) -> None:
    clock.chip.machine.reset()
    assert clock[RESETREAS] == PIN
    clock.chip.write(0xE000_ED0C, 0x05FA_0004)  # SYSRESETREQ
    clock.chip.wait(10)
    assert clock[RESETREAS] == PIN | SOFT
    clock[RESETREAS] = PIN
    assert clock[RESETREAS] == SOFT
    clock[RESETREAS] = 0
    assert clock[RESETREAS] == SOFT


def test_a_reset_keeps_the_retained_registers_and_stops_the_clocks(clock: Peripheral) -> None:
    clock[GPREGRET], clock[GPREGRET + 4] = 0x12, 0x34
    clock[LFCLKSRC] = LFXO
    clock[HFCLKSTART] = 1
    clock.chip.machine.reset()
    assert (clock[GPREGRET], clock[GPREGRET + 4]) == (0x12, 0x34)
    assert (clock[LFCLKSRC], clock[HFCLKRUN]) == (LFRC, 0)
    clock.chip.wait(1000 * MICROSECOND)
    assert clock[HFCLKSTARTED] == 0
