"""All registers: reset values, and the effect of a store to each.

Offsets and reset values are those of the nRF9160 Product Specification, "Registers" of each
peripheral.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import pytest
from bare_chip import BareChip

from harness.base.findings import Kind
from harness.elf import Image
from harness.simulator.machine import Machine

ONES = 0xFFFF_FFFF
PATTERN = 0xA5A5_A5A5


@dataclass(frozen=True)
class Registers:
    """Offset -> value after a reset; ``stored`` ones keep any word, ``fixed`` ones ignore it."""

    base: int
    stored: dict[int, int] = field(default_factory=dict)
    fixed: dict[int, int] = field(default_factory=dict)
    #: Others that have a reset value; other tests say what a store does.
    special: dict[int, int] = field(default_factory=dict)
    #: Registers that only a store means something to.
    write_only: tuple[int, ...] = ()


def array(offset: int, count: int, value: int = 0) -> dict[int, int]:
    return dict.fromkeys(range(offset, offset + 4 * count, 4), value)


INTERRUPTS = array(0x300, 3)
UARTE = {
    "stored": {
        0x508: ONES, 0x50C: ONES, 0x510: ONES, 0x514: ONES,  # PSEL
        0x500: 0, 0x524: 0x0400_0000, 0x56C: 0,  # ENABLE, BAUDRATE, CONFIG
        0x534: 0, 0x538: 0, 0x544: 0, 0x548: 0,  # RXD, TXD
    },
    "fixed": {0x480: 0, 0x53C: 0, 0x54C: 0, 0x564: 0, 0x568: 0},  # ERRORSRC, AMOUNT
    "special": {0x200: 0, **INTERRUPTS},  # SHORTS
}  # fmt: skip
TIMER = {"stored": {**array(0x540, 6)}, "special": {0x504: 0, 0x508: 0, 0x510: 4, **INTERRUPTS}}
RTC = {"fixed": {0x504: 0}, "special": {0x508: 0, **array(0x540, 4), **array(0x340, 3)}}
VMC_RAM = {0x600 + 0x10 * n + 4 * i: 0xFFFF for n in range(8) for i in range(3)}
PERIPHERALS = {
    "REGULATORS": Registers(0x5000_4000, {0x510: 0, 0x578: 0}, write_only=(0x500,)),
    "CLOCK": Registers(
        0x5000_5000,
        {0x51C: 0, 0x520: 0, 0x518: 1},  # GPREGRET, LFCLKSRC
        {0x408: 0, 0x40C: 0, 0x414: 0, 0x418: 0, 0x41C: 1},
        {0x400: 0, **INTERRUPTS},
    ),
    "CTRLAPPERI": Registers(
        0x5000_6000, {0x480: 0, 0x500: 0, 0x504: 0}, {0x400: 0, 0x404: 0, 0x484: 0}
    ),
    "UARTE0": Registers(0x5000_8000, **UARTE),
    "UARTE3": Registers(0x5000_B000, **UARTE),
    "GPIOTE0": Registers(0x5000_D000, special={**array(0x510, 8), **INTERRUPTS}),
    "TIMER0": Registers(0x5000_F000, **TIMER),
    "TIMER2": Registers(0x5001_1000, **TIMER),
    "RTC0": Registers(0x5001_4000, **RTC),
    "RTC1": Registers(0x5001_5000, **RTC),
    "DPPIC": Registers(0x5001_7000, array(0x800, 6), special=array(0x500, 3)),
    "WDT": Registers(
        0x5001_8000,
        {0x504: ONES, 0x50C: 1},  # CRV, CONFIG
        {0x400: 0, 0x404: 1},  # RUNSTATUS, REQSTATUS
        {0x508: 1, **INTERRUPTS},
        tuple(array(0x600, 8)),
    ),
    "EGU5": Registers(0x5002_0000, special={**array(0x100, 16), **INTERRUPTS}),
    "IPC": Registers(
        0x5002_A000,
        {**array(0x080, 8), **array(0x100, 8), **array(0x180, 8), **INTERRUPTS,
         **array(0x510, 8), **array(0x590, 8), **array(0x610, 4)},
        {0x30C: 0},
        write_only=tuple(array(0x000, 8)),
    ),
    "NVMC": Registers(
        0x5003_9000,
        {0x500: 0, 0x504: 0, 0x51C: 0xA, 0x540: 0, 0x548: 0, 0x54C: 0, 0x584: 0},
        {0x400: 1, 0x408: 1},  # READY, READYNEXT
        write_only=(0x50C, 0x588),
    ),
    "VMC": Registers(0x5003_A000, VMC_RAM),
    "P0": Registers(
        0x5084_2500,
        special={0x004: 0, 0x008: 0, 0x00C: 0, 0x010: 0, 0x014: 0, 0x018: 0, 0x01C: 0, 0x020: 0,
                 0x024: 0, **array(0x200, 32, 2)},
    ),
}  # fmt: skip
each = pytest.mark.parametrize("name", PERIPHERALS)


def findings(chip: BareChip) -> list[str | None]:
    return [finding.subject for finding in chip.machine.findings]


@each
def test_registers_hold_their_reset_values(chip: BareChip, name: str) -> None:
    p = PERIPHERALS[name]
    wanted = {**p.stored, **p.fixed, **p.special, **dict.fromkeys(p.write_only, 0)}
    assert {offset: chip.read(p.base + offset) for offset in wanted} == wanted
    assert findings(chip) == []


@each
def test_a_store_changes_the_register_and_no_other(chip: BareChip, name: str) -> None:
    p = PERIPHERALS[name]
    wanted = dict(p.stored)
    for offset in p.stored:
        chip.write(p.base + offset, PATTERN ^ offset)
        wanted[offset] = PATTERN ^ offset
        assert {at: chip.read(p.base + at) for at in wanted} == wanted


@each
def test_a_reset_undoes_stores(chip: BareChip, name: str) -> None:
    p = PERIPHERALS[name]
    for offset in p.stored:
        chip.write(p.base + offset, 0x5A)
    chip.machine.reset()
    retained = {0x51C: 0x5A, 0x520: 0x5A} if name == "CLOCK" else {}  # GPREGRET
    wanted = {**p.stored, **retained}
    assert {offset: chip.read(p.base + offset) for offset in wanted} == wanted


@each
def test_status_registers_ignore_stores(chip: BareChip, name: str) -> None:
    p = PERIPHERALS[name]
    for offset in p.fixed:
        chip.write(p.base + offset, ONES)
        chip.write(p.base + offset, 0)
    assert {offset: chip.read(p.base + offset) for offset in p.fixed} == p.fixed
    assert findings(chip) == []


@each
def test_registers_that_are_only_written_read_as_zero(chip: BareChip, name: str) -> None:
    p = PERIPHERALS[name]
    for offset in p.write_only:
        chip.write(p.base + offset, PATTERN & ~1)
        assert chip.read(p.base + offset) == 0
    assert findings(chip) == []


# what every peripheral with tasks and events has in common ("Peripheral interface")

EGU0 = 0x5001_B000
TRIGGER, SUBSCRIBE, TRIGGERED, PUBLISH = 0x000, 0x080, 0x100, 0x180
INTEN, INTENSET, INTENCLR, INTPEND = 0x300, 0x304, 0x308, 0x30C
ISPR, EGU0_IRQ = 0xE000_E200, 27


def is_pending(chip: BareChip, irq: int) -> bool:
    return bool(chip.read(ISPR + 4 * (irq // 32)) >> irq % 32 & 1)


def test_a_task_is_triggered_by_a_one_and_reads_as_zero(chip: BareChip) -> None:
    chip.write(EGU0 + TRIGGER, 2)
    assert chip.read(EGU0 + TRIGGERED) == 0
    chip.write(EGU0 + TRIGGER, 1)
    assert chip.read(EGU0 + TRIGGERED) == 1
    assert chip.read(EGU0 + TRIGGER) == 0


@pytest.mark.parametrize("index", range(16))
def test_each_task_of_an_array_raises_its_own_event(chip: BareChip, index: int) -> None:
    chip.write(EGU0 + TRIGGER + 4 * index, 1)
    raised = [chip.read(EGU0 + TRIGGERED + 4 * n) for n in range(16)]
    assert raised == [n == index for n in range(16)]


def test_an_event_is_one_bit_that_firmware_clears_or_sets(chip: BareChip) -> None:
    chip.write(EGU0 + TRIGGERED, ONES)
    assert chip.read(EGU0 + TRIGGERED) == 1
    chip.write(EGU0 + TRIGGERED, ONES - 1)
    assert chip.read(EGU0 + TRIGGERED) == 0


def test_inten_is_set_and_cleared_bit_by_bit(chip: BareChip) -> None:
    chip.write(EGU0 + INTENSET, 0x00F0)
    chip.write(EGU0 + INTENSET, 0x0F80)
    chip.write(EGU0 + INTENCLR, 0x1810)
    assert [chip.read(EGU0 + at) for at in (INTEN, INTENSET, INTENCLR)] == [0x07E0] * 3
    chip.write(EGU0 + INTEN, 0x0003)
    assert [chip.read(EGU0 + at) for at in (INTEN, INTENSET, INTENCLR)] == [0x0003] * 3


def test_intpend_is_inten_and_the_events(chip: BareChip) -> None:
    chip.write(EGU0 + INTENSET, 1 << 3 | 1 << 5)
    chip.write(EGU0 + TRIGGER + 4 * 5, 1)
    chip.write(EGU0 + TRIGGER + 4 * 6, 1)
    assert chip.read(EGU0 + INTPEND) == 1 << 5
    chip.write(EGU0 + INTPEND, 0)
    assert chip.read(EGU0 + INTPEND) == 1 << 5


def test_the_interrupt_is_raised_by_the_event_or_by_enabling_it(chip: BareChip) -> None:
    chip.write(EGU0 + TRIGGER + 4 * 2, 1)
    assert not is_pending(chip, EGU0_IRQ)
    chip.write(EGU0 + INTENSET, 1 << 1)
    assert not is_pending(chip, EGU0_IRQ)
    chip.write(EGU0 + INTENSET, 1 << 2)
    assert is_pending(chip, EGU0_IRQ)


def test_clearing_an_event_clears_its_interrupt(chip: BareChip) -> None:
    chip.write(EGU0 + INTENSET, 1)
    chip.write(EGU0 + TRIGGER, 1)
    chip.write(EGU0 + TRIGGERED, 0)
    chip.write(0xE000_E280, 1 << EGU0_IRQ)  # ICPR
    assert not is_pending(chip, EGU0_IRQ)
    chip.write(EGU0 + TRIGGER, 1)
    assert is_pending(chip, EGU0_IRQ)


def test_a_line_that_stays_high_keeps_its_interrupt_pending(chip: BareChip) -> None:
    chip.write(EGU0 + INTENSET, 1)
    chip.write(EGU0 + TRIGGER, 1)
    chip.write(0xE000_E280, 1 << EGU0_IRQ)
    assert is_pending(chip, EGU0_IRQ)
    chip.machine.reset()
    assert not is_pending(chip, EGU0_IRQ)


@pytest.mark.parametrize(
    ("base", "event", "bit", "irq"),
    [
        (0x5000_5000, 0x108, 2, 5),  # POWER: POFWARN
        (0x5000_8000, 0x120, 8, 8),  # UARTE0: ENDTX
        (0x5000_D000, 0x17C, 31, 13),  # GPIOTE0: PORT
        (0x5000_F000, 0x154, 21, 15),  # TIMER0: COMPARE[5]
        (0x5001_5000, 0x14C, 19, 21),  # RTC1: COMPARE[3]
        (0x5001_8000, 0x100, 0, 24),  # WDT: TIMEOUT
        (0x5002_0000, 0x13C, 15, 32),  # EGU5: TRIGGERED[15]
        (0x5000_3000, 0x108, 2, 3),  # SPU: PERIPHACCERR
    ],
)
def test_an_events_bit_of_inten_follows_from_its_offset(
    chip: BareChip, base: int, event: int, bit: int, irq: int
) -> None:
    chip.write(base + INTENSET, ONES & ~(1 << bit))
    chip.write(base + event, 1)
    assert not is_pending(chip, irq)
    chip.write(base + INTENSET, 1 << bit)
    assert is_pending(chip, irq)


def test_subscribe_and_publish_keep_their_value(chip: BareChip) -> None:
    chip.write(EGU0 + SUBSCRIBE + 4, 1 << 31 | 7)
    chip.write(EGU0 + PUBLISH + 8, 1 << 31 | 9)
    assert chip.read(EGU0 + SUBSCRIBE + 4) == 1 << 31 | 7
    assert chip.read(EGU0 + PUBLISH + 8) == 1 << 31 | 9
    chip.machine.reset()
    assert chip.read(EGU0 + SUBSCRIBE + 4) == chip.read(EGU0 + PUBLISH + 8) == 0


# what has no model

CRYPTOCELL = 0x5084_0000


def test_a_register_without_a_model_keeps_its_word_and_is_a_finding_once(chip: BareChip) -> None:
    chip.write(CRYPTOCELL + 0x510, 0x1234)
    assert chip.read(CRYPTOCELL + 0x510) == 0x1234
    chip.read(CRYPTOCELL + 0x514)
    assert findings(chip) == ["CRYPTOCELL+0x510", "CRYPTOCELL+0x514"]
    first, second = (finding.message for finding in chip.machine.findings)
    assert "has no model and was written (by" in first
    assert "has no model and was read (by" in second


def test_findings_about_registers_are_bounded(chip: BareChip) -> None:
    for offset in range(0, 0x1000, 4):
        chip.read(CRYPTOCELL + offset)
    assert len(chip.machine.findings) == 200


def test_eraseall_does_nothing_unless_erasing_is_enabled(chip: BareChip) -> None:
    chip.write(0x5003_9504, 1)  # Wen
    chip.write(0x5003_950C, 1)
    assert findings(chip) == ["NVMC.ERASEALL"]
    assert chip.words(0, 1) != [0xFFFF_FFFF]


# where registers answer


@pytest.mark.parametrize("address", [0x5000_2000, 0x5000_7000, 0x4000_3000, 0x4084_0000])
def test_an_access_without_a_peripheral_is_a_bus_error(chip: BareChip, address: int) -> None:
    assert chip.refuses(address)
    assert chip.refuses(address, write=True)


def test_a_block_ends_where_its_registers_end(chip: BareChip) -> None:
    chip.read(0x5084_2500 + 0x2FC)
    assert chip.refuses(0x5084_2900)
    chip.read(0x5084_1FFC)  # CRYPTOCELL has two pages
    assert chip.refuses(0x5084_2000)


@pytest.mark.parametrize(("size", "at", "value"), [(1, 0, 0xA5), (1, 3, 0x12), (2, 2, 0x1234)])
def test_a_narrow_load_gives_its_part_of_the_word(
    chip: BareChip, size: int, at: int, value: int
) -> None:
    chip.write(0x5000_8544, 0x1234_56A5)
    assert chip.read(0x5000_8544 + at, size) == value


def test_a_narrow_store_is_a_word_with_zeros_beside_it(chip: BareChip) -> None:
    chip.write(0x5000_8544, ONES)
    chip.write(0x5000_8545, 0x1A5, size=1)
    assert chip.read(0x5000_8544) == 0xA500
    chip.write(0x5000_8546, 0xBEEF, size=2)
    assert chip.read(0x5000_8544) == 0xBEEF_0000


def test_a_double_store_is_two_words(chip: BareChip) -> None:
    chip.write(0x5000_8544, 0x1122_3344_5566_7788, size=8)
    assert chip.read(0x5000_8544) == 0x5566_7788
    assert chip.read(0x5000_8548) == 0x1122_3344


@pytest.mark.parametrize(
    ("address", "name"),
    [(0x5000_8544, "UARTE0.TXD_PTR"), (0x5001_4541, "RTC0.CC[0]"),
     (0x5001_B100, "EGU0.EVENTS_TRIGGERED[0]"), (0x5001_B002, "EGU0.TASKS_TRIGGER[0]"),
     (0x5000_8304, "UARTE0.INTENSET")],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 2])
def test_parts_of_a_register_are_forbidden(
    chip: BareChip, address: int, name: str, size: int
) -> None:
    chip.read(address & ~(size - 1), size)
    (finding,) = chip.machine.findings
    assert (finding.kind, finding.subject) == (Kind.FORBIDDEN_ACCESS, name)
    assert ("a byte", "a halfword")[size - 1] in finding.message
    assert chip.machine.faults == []


# the factory's words

FICR, UICR = 0x00FF_0000, 0x00FF_8000


def words(chip: BareChip, address: int, count: int) -> list[int]:
    data = chip.machine.read_memory(address, 4 * count)
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def test_ficr_identifies_the_part(chip: BareChip) -> None:
    part, variant, package, ram, flash, page, pages, kind = words(chip, FICR + 0x20C, 8)
    assert (part, variant.to_bytes(4, "big"), package) == (0x9160, b"AABC", 0x2000)
    assert (ram, flash, page, pages, kind) == (256, 1024, 4096, 256, 0)


def test_ficr_tells_start_up_code_and_debuggers_the_part(chip: BareChip) -> None:
    assert words(chip, FICR + 0x130, 2) == [9, 2]  # errata
    part, revision, variant = words(chip, FICR + 0x140, 3)
    assert (f"{part:X}", struct.pack("<I", variant), revision) == ("9160", b"SICA", 0x0041_3142)


def test_regulators_take_the_workaround_for_erratum_31(chip: BareChip) -> None:
    chip.write(0x5000_470C, 0)
    chip.write(0x5000_4710, 1)
    assert not chip.machine.findings


def test_the_rest_of_ficr_is_erased(chip: BareChip) -> None:
    assert set(words(chip, FICR, 0x130 // 4)) == {ONES}
    assert set(words(chip, FICR + 0x14C, (0x204 - 0x14C) // 4)) == {ONES}
    assert ONES not in words(chip, FICR + 0x204, 2)  # DEVICEID
    assert set(words(chip, FICR + 0x22C, (0x1000 - 0x22C) // 4)) == {ONES}


def test_uicr_of_a_device_that_has_booted_holds_its_oscillator(chip: BareChip) -> None:
    assert words(chip, UICR, 7) == [ONES] * 7
    source, count = words(chip, UICR + 0x1C, 2)
    assert source & 1 == 0  # TCXO
    assert count == 0x20
    assert set(words(chip, UICR + 0x24, (0x1000 - 0x24) // 4)) == {ONES}


def test_uicr_of_a_device_fresh_from_the_factory_is_erased(waiting: Image) -> None:
    machine = Machine(waiting, booted=False)
    assert machine.read_memory(UICR, 0x1000) == b"\xff" * 0x1000
    machine.close()
