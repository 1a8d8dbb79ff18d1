"""Flash and UICR (nRF9160 PS, "NVMC"): read only, until CONFIG lets them be written or erased."""

from __future__ import annotations

import pytest
from bare_chip import BareChip

from harness.base.findings import Kind
from harness.simulator import snapshot
from harness.simulator.unicorn import Reg

CONFIG, CONFIGNS = 0x5003_9504, 0x5003_9584
READY, READYNEXT = 0x5003_9400, 0x5003_9408
REN, WEN, EEN, PEEN = 0, 1, 2, 4
CODE = 0x7_0000  # in flash
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


@pytest.mark.parametrize("place", [PAGE, FLASH_END - 4, UICR + 0x100])
def test_programming_only_clears_bits(chip: BareChip, place: int) -> None:
    chip.write(CONFIG, WEN)
    store(chip, place, 0xFFFF_00FF)
    assert word(chip, place) == 0xFFFF_00FF
    store(chip, place, 0x0FF0_FFFF)
    assert word(chip, place) == 0x0FF0_00FF
    assert faults(chip) == []


@pytest.mark.parametrize(("instruction", "at"), [(STRB, 1), (STRH, 2), (STRH, 0), (STR, 2)])
@pytest.mark.parametrize("mode", [WEN, EEN])
def test_only_aligned_words_can_be_stored(
    chip: BareChip, instruction: int, at: int, mode: int
) -> None:
    chip.write(CONFIG, mode)
    store(chip, PAGE + at, ONES if mode == EEN else 0x3412, instruction)
    assert faults(chip) == [("PRECISERR, BFARVALID", PAGE + at)]
    assert word(chip, PAGE) == ONES
    assert [finding.kind for finding in chip.machine.findings] == [Kind.FLASH_MISUSE]


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
    store(chip, PAGE, ONES)
    assert [word(chip, place) for place in places] == [0, ONES, ONES, 0]
    assert faults(chip) == []


@pytest.mark.parametrize(("at", "value"), [(0x800, ONES), (4, ONES), (0, 0), (0, 0xFFFF_FFFE)])
def test_only_ones_in_the_first_word_erase_a_page(chip: BareChip, at: int, value: int) -> None:
    chip.write(CONFIG, WEN)
    store(chip, PAGE + at, 0x1234)
    chip.write(CONFIG, EEN)
    store(chip, PAGE + at, value)
    assert word(chip, PAGE + at) == 0x1234
    assert [(one.kind, one.subject) for one in chip.machine.findings] == [
        (Kind.FLASH_MISUSE, f"0x{PAGE + at:08x}")
    ]


def test_partial_erases_add_up_to_one(chip: BareChip) -> None:
    """Nine of ten milliseconds are 87 (nRF5340 PS, "Partial erase of a page in flash")."""
    chip.write(CONFIG, WEN)
    store(chip, PAGE, 0x1234)
    chip.write(CONFIG, PEEN)
    for _ in range(8):
        store(chip, PAGE, ONES)
        assert word(chip, PAGE) == 0x1234
    store(chip, PAGE, ONES)
    assert word(chip, PAGE) == ONES


def test_a_word_takes_two_writes_between_erases(chip: BareChip) -> None:
    chip.write(CONFIG, WEN)
    for value in (0xFFFF_FF00, 0xFFFF_00FF, ONES):  # the last one programs nothing
        store(chip, PAGE, value)
    assert chip.machine.findings == []
    store(chip, PAGE, 0xFF00_FFFF)
    (finding,) = chip.machine.findings
    assert finding.kind is Kind.FLASH_MISUSE
    assert "3 times" in finding.message
    chip.machine.clear_evidence()
    chip.write(CONFIG, EEN)
    store(chip, PAGE, ONES)
    chip.write(CONFIG, WEN)
    store(chip, PAGE, 0)
    store(chip, PAGE, 0)
    assert chip.machine.findings == []


def test_what_a_programmer_wrote_counts_as_a_write(chip: BareChip) -> None:
    chip.machine.write_memory(PAGE, bytes(3))
    chip.write(CONFIG, WEN)
    store(chip, PAGE, 0xF0FF_FFFF)
    assert chip.machine.findings == []
    store(chip, PAGE, 0x00FF_FFFF)
    assert [finding.kind for finding in chip.machine.findings] == [Kind.FLASH_MISUSE]


def test_writing_ones_over_zeros_is_noted(chip: BareChip) -> None:
    """Not so bytes of ones, which say that the others are meant."""
    chip.write(CONFIG, WEN)
    store(chip, PAGE, 0xFFFF_FF00)
    store(chip, PAGE, 0xFFFF_12FF)
    assert chip.machine.findings == []
    store(chip, PAGE + 4, 0x1234_5678)
    store(chip, PAGE + 4, 0x4321_5678)
    assert word(chip, PAGE + 4) == 0x0220_5678
    assert [finding.kind for finding in chip.machine.findings] == [Kind.FLASH_OVERWRITTEN]


MICROSECOND = 64  # ticks


@pytest.mark.parametrize(
    ("mode", "value", "microseconds"), [(WEN, 0, 43), (EEN, ONES, 87_500), (PEEN, ONES, 10_000)]
)
def test_the_core_stands_while_the_flash_that_it_runs_from_works(
    chip: BareChip, mode: int, value: int, microseconds: int
) -> None:
    chip.write(CONFIG, mode)
    before = chip.now
    chip.play(STR, 0x6011, steps=2, at=CODE, r0=PAGE, r1=value, r2=0x2000_0000)  # str r1, [r2]
    assert chip.now - before == microseconds * MICROSECOND + 2 - 1
    assert chip.read(READY) == 1


def test_code_in_ram_goes_on_and_its_next_store_to_flash_waits(chip: BareChip) -> None:
    chip.write(CONFIG, EEN)
    before = chip.now
    store(chip, PAGE, ONES)
    assert (chip.now - before, chip.read(READY), chip.read(READYNEXT)) == (1, 0, 0)
    store(chip, PAGE + 0x1000, ONES)
    chip.play(0xBF00, steps=1)
    assert 0 <= chip.now - before - 87_500 * MICROSECOND <= 3
    chip.wait(87_500 * MICROSECOND - 3)
    assert chip.read(READY) == 0
    chip.wait(6)
    assert (chip.read(READY), chip.read(READYNEXT)) == (1, 1)


def test_events_happen_while_the_core_stands(chip: BareChip) -> None:
    """A run in slices is as one in one go; TIMER0 clears itself every 100 us."""
    timer = 0x5000_F000
    for offset, value in ((0x508, 3), (0x510, 4), (0x540, 100), (0x200, 1), (0x304, 1 << 16)):
        chip.write(timer + offset, value)  # BITMODE, PRESCALER, CC[0], SHORTS, INTENSET
    chip.write(timer, 1)
    chip.write(CONFIG, EEN)
    kept = snapshot.take(chip.machine)

    def run(step: int) -> tuple[int, int, int]:
        snapshot.restore(chip.machine, kept)
        begin, machine = chip.now, chip.machine
        machine.write_memory(CODE, bytes.fromhex("0160 00bf fee7"))
        for name, value in (("r0", PAGE), ("r1", ONES), ("pc", CODE)):
            machine.write_register(name, value)
        while machine.now < begin + 90_000 * MICROSECOND:
            machine.run(until_tick=min(machine.now + step, begin + 90_000 * MICROSECOND))
        chip.write(timer + 0x044, 1)  # CAPTURE[1]
        return machine.core.executed, machine.now, chip.read(timer + 0x544)

    whole = run(10**9)
    assert whole == run(7001) == run(1_000_003)
    assert whole[2] == 90_000 % 100


@pytest.mark.parametrize("name", ["flash", "uicr"])
def test_eraseall_erases_flash_and_uicr(chip: BareChip, name: str) -> None:
    area = chip.machine.memory_map.area(name)
    chip.write(CONFIG, EEN)
    before = chip.now
    chip.play(STR, 0xBF00, steps=2, r0=CONFIG + 8, r1=1)
    assert chip.machine.read_memory(area.origin, area.size) == b"\xff" * area.size
    assert (chip.now - before, chip.read(READY)) == (2, 0)
    chip.wait(173_000 * MICROSECOND)
    assert chip.read(READY) == 1


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


@pytest.mark.parametrize(
    ("config", "config_ns", "nonsecure", "writes"),
    [(WEN, REN, False, True), (REN, WEN, False, False), (REN, WEN, True, True),
     (WEN, REN, True, False), (REN, REN, True, False)],
)  # fmt: skip
def test_each_state_uses_its_own_nvmc_configuration(
    chip: BareChip, config: int, config_ns: int, nonsecure: bool, writes: bool
) -> None:
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
