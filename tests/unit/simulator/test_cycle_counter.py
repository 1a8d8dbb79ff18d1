"""DWT_CYCCNT (Armv8-M ARM, D1.2, DWT_*): counts while DEMCR.TRCENA and CYCCNTENA are set."""

from __future__ import annotations

import pytest
from bare_chip import BareChip

CTRL, CYCCNT, DEMCR = 0xE000_1000, 0xE000_1004, 0xE000_EDFC
CYCCNTENA, TRCENA = 1, 1 << 24


def test_after_a_reset_it_is_off_at_zero(chip: BareChip) -> None:
    chip.wait(100)
    assert chip.read(DEMCR) == 0
    assert chip.read(CTRL) & CYCCNTENA == 0
    assert chip.read(CYCCNT) == 0


def test_it_has_no_comparators_and_a_cycle_counter(chip: BareChip) -> None:
    control = chip.read(CTRL)
    assert control >> 28 == 0  # NUMCOMP
    assert control >> 25 & 1 == 0  # NOCYCCNT
    assert control >> 24 & 0b1101 == 0b1101  # NOTRCPKT, NOEXTTRIG, NOPRFCNT


@pytest.mark.parametrize(
    ("trace", "enable", "counts"), [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)]
)
def test_it_counts_cycles_where_both_bits_are_set(
    chip: BareChip, trace: int, enable: int, counts: int
) -> None:
    chip.write(DEMCR, TRCENA * trace)
    chip.write(CTRL, CYCCNTENA * enable)
    assert chip.read(DEMCR) == TRCENA * trace
    assert chip.read(CTRL) & 1 == enable
    chip.wait(1234)
    assert chip.read(CYCCNT) == 1234 * counts


def counting(chip: BareChip) -> None:
    chip.write(DEMCR, TRCENA)
    chip.write(CTRL, CYCCNTENA)


@pytest.mark.parametrize(("register", "on"), [(DEMCR, TRCENA), (CTRL, CYCCNTENA)])
def test_while_it_is_off_it_holds(chip: BareChip, register: int, on: int) -> None:
    counting(chip)
    chip.wait(100)
    chip.write(register, 0)
    chip.wait(50)
    assert chip.read(CYCCNT) == 100
    chip.write(register, on)
    chip.wait(7)
    assert chip.read(CYCCNT) == 107


def test_firmware_sets_it_and_it_wraps_at_32_bits(chip: BareChip) -> None:
    counting(chip)
    chip.wait(100)
    chip.write(CYCCNT, 0xFFFF_FFF0)
    assert chip.read(CYCCNT) == 0xFFFF_FFF0
    chip.wait(0x20)
    assert chip.read(CYCCNT) == 0x10


def test_other_registers_of_the_dwt_read_as_zero(chip: BareChip) -> None:
    counting(chip)
    chip.wait(100)
    chip.write(CTRL + 8, 5)
    assert chip.read(CTRL + 8) == 0
    assert chip.read(CYCCNT) == 100


def test_a_reset_turns_it_off(chip: BareChip) -> None:
    counting(chip)
    chip.wait(100)
    chip.machine.reset()
    chip.wait(100)
    assert (chip.read(DEMCR), chip.read(CTRL) & 1, chip.read(CYCCNT)) == (0, 0, 0)
