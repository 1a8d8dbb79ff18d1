"""Flash and UICR (nRF9160 PS, "NVMC"): read only, until CONFIG lets them be written or erased."""

from __future__ import annotations

import pytest
from bare_chip import BareChip

from harness.simulator.unicorn import Reg

CONFIG, CONFIGNS = 0x5003_9504, 0x5003_9584
REN, WEN, EEN = 0, 1, 2
PAGE, FLASH_END, UICR, FICR = 0x8_0000, 0x10_0000, 0x00FF_8000, 0x00FF_0000
CPACR = 0xE000_ED88
STR, STRH, STRB = 0x6001, 0x8001, 0x7001  # r1 to [r0]
ONES = 0xFFFF_FFFF


def store(chip: BareChip, address: int, value: int, instruction: int = STR) -> None:
    """One store by the processor."""
    chip.play(instruction, steps=1, r0=address, r1=value)


def word(chip: BareChip, address: int) -> int:
    return int.from_bytes(chip.machine.read_memory(address, 4), "little")


def faults(chip: BareChip) -> list[tuple[str, int | None]]:
    return [(fault.reason, fault.address) for fault in chip.machine.faults]


@pytest.mark.slow
@pytest.mark.parametrize("place", [PAGE, UICR + 0x100])
def test_a_store_to_memory_that_is_read_only_is_a_bus_fault(chip: BareChip, place: int) -> None:
    store(chip, place, 0)
    assert faults(chip) == [("PRECISERR, BFARVALID", place)]
    assert word(chip, place) == ONES


@pytest.mark.parametrize("mode", [WEN, EEN])
def test_ficr_cannot_be_written_at_all(chip: BareChip, mode: int) -> None:
    chip.write(CONFIG, mode)
    store(chip, FICR + 0x300, 0)
    assert faults(chip) == [("PRECISERR, BFARVALID", FICR + 0x300)]
    assert word(chip, FICR + 0x300) == ONES


@pytest.mark.slow
@pytest.mark.parametrize("place", [PAGE, FLASH_END - 4, UICR + 0x100])
def test_programming_only_clears_bits(chip: BareChip, place: int) -> None:
    chip.write(CONFIG, WEN)
    store(chip, place, 0xFFFF_00FF)
    assert word(chip, place) == 0xFFFF_00FF
    store(chip, place, 0x0FF0_FFFF)
    assert word(chip, place) == 0x0FF0_00FF
    assert faults(chip) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("instruction", "at", "expected"), [(STRB, 1, 0xFFFF_12FF), (STRH, 2, 0x3412_FFFF)]
)
def test_parts_of_a_word_are_written_alone(
    chip: BareChip, instruction: int, at: int, expected: int
) -> None:
    chip.write(CONFIG, WEN)
    store(chip, PAGE + at, 0x3412, instruction)
    assert word(chip, PAGE) == expected


@pytest.mark.slow
def test_a_double_word_is_written_at_once(chip: BareChip) -> None:
    chip.write(CONFIG, WEN)
    chip.machine.core.write(Reg.S0, 0x1234_5678)
    chip.machine.core.write(Reg.S0 + 1, 0x9ABC_DEF0)
    chip.write(CPACR, 0x00F0_0000)
    chip.play(0xED80, 0x0B00, steps=1, r0=PAGE)  # vstr d0, [r0]
    assert (word(chip, PAGE), word(chip, PAGE + 4)) == (0x1234_5678, 0x9ABC_DEF0)
    assert faults(chip) == []


def test_an_erase_sets_only_its_page_to_ones(chip: BareChip) -> None:
    chip.write(CONFIG, WEN)
    places = (PAGE - 4, PAGE, PAGE + 0xFFC, PAGE + 0x1000)
    for place in places:
        store(chip, place, 0)
    chip.write(CONFIG, EEN)
    store(chip, PAGE + 0x800, ONES)
    assert [word(chip, place) for place in places] == [0, ONES, ONES, 0]
    assert faults(chip) == []


def test_uicr_is_not_erased_by_a_store(chip: BareChip) -> None:
    chip.write(CONFIG, EEN)
    store(chip, UICR + 0x100, ONES)
    assert faults(chip) == [("PRECISERR, BFARVALID", UICR + 0x100)]
    assert word(chip, UICR + 0x20) == 0x20


def test_programmed_code_runs_next(chip: BareChip) -> None:
    machine = chip.machine
    for increment in (0x3001, 0x3000):  # adds r0, #1; then #0, which has no more ones
        chip.write(CONFIG, WEN)
        store(chip, PAGE, increment | 0x4770 << 16)  # bx lr
        chip.play(0x4790, steps=2, r2=PAGE | 1, r0=0)  # blx r2
        assert machine.registers["r0"] == increment & 0xFF


def test_programmed_data_survives_a_reset(chip: BareChip) -> None:
    chip.write(CONFIG, WEN)
    store(chip, PAGE, 0x1234)
    chip.machine.reset()
    assert word(chip, PAGE) == 0x1234
    assert chip.read(CONFIG) == REN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "config_ns", "nonsecure", "writes"),
    [(WEN, REN, False, True), (REN, WEN, False, True), (REN, WEN, True, True),
     (WEN, REN, True, False), (REN, REN, True, False)],
)  # fmt: skip
def test_each_state_uses_its_own_nvmc_configuration(
    chip: BareChip, config: int, config_ns: int, nonsecure: bool, writes: bool
) -> None:
    """Of the secure side: a non-secure image that runs alone has only its own."""
    spu = 0x5000_3000
    for region in range(8, 32):
        chip.write(spu + 0x600 + 4 * region, 7 | (not nonsecure) << 4)
    for region in range(32):
        chip.write(spu + 0x700 + 4 * region, 7 | (not nonsecure) << 4)
    chip.write(CONFIG, config)
    chip.write(CONFIGNS, config_ns)
    if nonsecure:
        chip.write(0xE000_EDD0, 2)  # SAU_CTRL.ALLNS
        chip.enter_nonsecure()
    store(chip, PAGE, 0x1234)
    assert (word(chip, PAGE) == 0x1234) is writes
    assert (chip.machine.faults == []) is writes
