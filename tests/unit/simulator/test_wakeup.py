"""The question at the end of a run: can anything interrupt or wake the core?"""

from __future__ import annotations

import pytest
from bare_chip import BareChip

from harness.simulator.machine import End

TIMER, EGU, DPPIC, UARTE, WDT = 0x5000_F000, 0x5001_B000, 0x5001_7000, 0x5000_9000, 0x5001_8000
WFI = 0xBF30
COMPARE, INTENSET, PUBLISH, SUBSCRIBE = 0x140, 0x304, 0x80, 0x80
ISER, CHEN = 0xE000_E100, 0x500
CHANNEL, ON = 3, 1 << 31
SECOND = 64_000_000


def ends(chip: BareChip) -> End:
    """How a second ends after WFI."""
    chip.play(WFI, steps=1)
    return chip.machine.run(until_tick=chip.now + SECOND, stop_when_idle=True)


def count(chip: BareChip, publishes: bool = False) -> None:
    """TIMER0 counts to 1000, and publishes that on a channel."""
    chip.write(TIMER + 0x540, 1000)
    if publishes:
        chip.write(TIMER + COMPARE + PUBLISH, ON | CHANNEL)
        chip.write(DPPIC + CHEN, 1 << CHANNEL)
    chip.write(TIMER, 1)


def test_a_timer_that_interrupts_nothing_does_not_keep_a_run_going(chip: BareChip) -> None:
    count(chip)
    before = chip.now
    assert ends(chip) is End.IDLE
    assert chip.now - before < 10


@pytest.mark.parametrize("enabled", [True, False])
def test_an_interrupt_through_dppi_counts_if_the_nvic_enables_it(
    chip: BareChip, enabled: bool
) -> None:
    chip.write(EGU + SUBSCRIBE, ON | CHANNEL)
    chip.write(EGU + INTENSET, 1)
    chip.write(ISER, enabled << 27)
    count(chip, publishes=True)
    chip.play(WFI, steps=1)
    chip.machine.run(until_tick=chip.now + 100_000, stop_when_idle=True)
    assert chip.running == (16 + 27 if enabled else 0)


def test_a_transfer_that_dppi_starts_is_waited_for(chip: BareChip) -> None:
    chip.write(UARTE + 0x008 + SUBSCRIBE, ON | CHANNEL)
    count(chip, publishes=True)
    assert ends(chip) is End.DEADLINE


def test_a_watchdog_will_reset_the_chip(chip: BareChip) -> None:
    chip.write(WDT + 0x504, 32_768 * 10)
    chip.write(WDT, 1)
    assert ends(chip) is End.DEADLINE


def test_peripherals_that_run_on_are_waited_for_on_demand(chip: BareChip) -> None:
    count(chip)
    chip.play(WFI, steps=1)
    end = chip.machine.run(until_tick=chip.now + 500, stop_when_idle=True, peripherals_too=True)
    assert end is End.DEADLINE


def test_without_a_pending_interrupt_there_is_no_note(chip: BareChip) -> None:
    assert ends(chip) is End.IDLE
    assert chip.machine.findings == []
