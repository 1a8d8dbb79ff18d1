"""SysTick (Armv8-M ARM, D1.2, SYST_*): 24 bits, down to zero, then RVR again."""

from __future__ import annotations

import pytest
from bare_chip import BareChip

CSR, RVR, CVR, CALIB = 0xE000_E010, 0xE000_E014, 0xE000_E018, 0xE000_E01C
NONSECURE_ALIAS = 0x2_0000
ENABLE, TICKINT, CLKSOURCE, COUNTFLAG = 1, 2, 4, 1 << 16
ICSR, PENDSTSET, PENDSTCLR = 0xE000_ED04, 1 << 26, 1 << 25


def start(chip: BareChip, reload: int, control: int = ENABLE) -> None:
    chip.write(RVR, reload)
    chip.write(CVR, 0)
    chip.write(CSR, control)


def is_pending(chip: BareChip) -> bool:
    return bool(chip.read(ICSR) & PENDSTSET)


def test_after_a_reset_it_stands_at_zero(chip: BareChip) -> None:
    assert [chip.read(register) for register in (CSR, RVR, CVR)] == [CLKSOURCE, 0, 0]
    chip.wait(1000)
    assert chip.read(CVR) == 0


def test_there_is_no_reference_clock(chip: BareChip) -> None:
    assert chip.read(CALIB) == 0xC000_0000  # NOREF, SKEW
    chip.write(CALIB, 0)
    assert chip.read(CALIB) == 0xC000_0000
    chip.write(CSR, ENABLE)
    assert chip.read(CSR) == ENABLE | CLKSOURCE


def test_the_reload_value_has_24_bits(chip: BareChip) -> None:
    chip.write(RVR, 0xFFFF_FFFF)
    assert chip.read(RVR) == 0xFF_FFFF


def test_it_reloads_with_the_first_tick_and_counts_down_to_zero(chip: BareChip) -> None:
    start(chip, 5)
    seen = []
    for _ in range(14):
        chip.wait(1)
        seen.append(chip.read(CVR))
    assert seen == [5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0, 5, 4]


def test_countflag_is_cleared_by_reading(chip: BareChip) -> None:
    start(chip, 99)
    chip.wait(99)
    assert not chip.read(CSR) & COUNTFLAG
    chip.wait(1)
    assert chip.read(CSR) & COUNTFLAG
    assert not chip.read(CSR) & COUNTFLAG
    chip.wait(100)
    assert chip.read(CSR) & COUNTFLAG


@pytest.mark.parametrize("asked", [0, TICKINT])
def test_with_tickint_the_exception_is_pended_at_zero(chip: BareChip, asked: int) -> None:
    chip.write(0xE000_ED20, 0xFF00_0000)  # SHPR3: it may not preempt
    chip.machine.write_register("r0", 1)
    chip.play(0xF380, 0x8810, steps=1)  # msr primask, r0
    start(chip, 49, ENABLE | asked)
    chip.wait(49)
    assert not is_pending(chip)
    chip.wait(1)
    assert is_pending(chip) is bool(asked)
    chip.write(ICSR, PENDSTCLR)
    chip.wait(50)
    assert is_pending(chip) is bool(asked)


@pytest.mark.parametrize("value", [0, 1, 0x1234])
def test_a_write_of_the_counter_clears_it_and_the_flag(chip: BareChip, value: int) -> None:
    start(chip, 99)
    chip.wait(130)
    chip.write(CVR, value)
    assert chip.read(CVR) == 0
    assert not chip.read(CSR) & COUNTFLAG
    chip.wait(1)
    assert chip.read(CVR) == 99


def test_while_it_is_off_it_holds(chip: BareChip) -> None:
    start(chip, 99)
    chip.wait(40)
    chip.write(CSR, 0)
    assert chip.read(CVR) == 60
    chip.wait(500)
    assert chip.read(CVR) == 60
    assert not chip.read(CSR) & COUNTFLAG
    chip.write(CSR, ENABLE)
    chip.wait(60)
    assert chip.read(CVR) == 0
    assert chip.read(CSR) & COUNTFLAG


def test_a_new_reload_value_counts_from_the_next_reload(chip: BareChip) -> None:
    start(chip, 99)
    chip.wait(40)
    chip.write(RVR, 9)
    assert chip.read(CVR) == 60
    chip.wait(60)
    assert chip.read(CVR) == 0
    chip.wait(1)
    assert chip.read(CVR) == 9
    chip.wait(10)
    assert chip.read(CVR) == 9


def test_with_a_reload_value_of_zero_it_stops_at_zero(chip: BareChip) -> None:
    start(chip, 99)
    chip.wait(40)
    chip.write(RVR, 0)
    chip.wait(60)
    assert chip.read(CSR) & COUNTFLAG
    chip.wait(1000)
    assert chip.read(CVR) == 0
    assert not chip.read(CSR) & COUNTFLAG


def test_a_reload_value_of_one_flags_every_other_tick(chip: BareChip) -> None:
    start(chip, 1)
    chip.wait(2)
    assert chip.read(CVR) == 0
    chip.wait(1)
    assert chip.read(CVR) == 1


def test_the_longest_period_is_2_to_the_24(chip: BareChip) -> None:
    start(chip, 0xFF_FFFF)
    chip.wait((1 << 24) - 1)
    assert not chip.read(CSR) & COUNTFLAG
    chip.wait(1)
    assert chip.read(CSR) & COUNTFLAG


def test_each_state_has_its_own_and_secure_code_sees_both(chip: BareChip) -> None:
    chip.write(RVR + NONSECURE_ALIAS, 0x123)
    assert chip.read(RVR) == 0
    start(chip, 99)
    chip.wait(40)
    assert chip.read(CVR + NONSECURE_ALIAS) == 0
    chip.enter_nonsecure()
    assert chip.read(RVR) == 0x123


def test_a_reset_stops_it(chip: BareChip) -> None:
    start(chip, 99, ENABLE | TICKINT)
    chip.wait(40)
    chip.machine.reset()
    chip.wait(200)
    assert [chip.read(register) for register in (CSR, RVR, CVR)] == [CLKSOURCE, 0, 0]
    assert not is_pending(chip)
