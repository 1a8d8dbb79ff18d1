"""Faults by instruction, and their escalation (Armv8-M ARM, B3.9 to B3.13)."""

from __future__ import annotations

import pytest
from bare_chip import CODE, BareChip

ICSR, AIRCR, CCR, SHPR1, SHPR3 = 0xE000_ED04, 0xE000_ED0C, 0xE000_ED14, 0xE000_ED18, 0xE000_ED20
SHPR2, SHCSR, CFSR, HFSR, MMFAR, BFAR = (0xE000_ED1C + n for n in (0, 8, 12, 16, 24, 28))
ENABLE_ALL = 0xF << 16
HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SVCALL = 3, 4, 5, 6, 11
FORCED, DEBUGEVT, VECTTBL = 1 << 30, 1 << 31, 1 << 1
MMARVALID, BFARVALID = 1 << 7, 1 << 15
MSR_PRIMASK, MSR_BASEPRI, MSR_FAULTMASK = 0x8810, 0x8811, 0x8813
MSR_MSPLIM = 0x880A
NOWHERE, FLASH, RAM = 0x3000_0000, 0x0008_0000, 0x2000_0000

#: name: code, exception, CFSR, BFAR
FAULTS = {
    "undefined": ((0xDE00,), USAGE_FAULT, 1 << 16, None),
    "branch without the Thumb bit": ((0x4700,), USAGE_FAULT, 1 << 17, None),  # bx r0
    "floating point that is off": ((0xEE00, 0x0A10), USAGE_FAULT, 1 << 19, None),
    "unaligned ldrex": ((0xE850, 0x1F00), USAGE_FAULT, 1 << 24, None),  # ldrex r1, [r0]
    "load from nowhere": ((0x6801,), BUS_FAULT, 1 << 9 | BFARVALID, NOWHERE),
    "store to nowhere": ((0x6001,), BUS_FAULT, 1 << 9 | BFARVALID, NOWHERE),
    "store to flash": ((0x6001,), BUS_FAULT, 1 << 9 | BFARVALID, FLASH),
    "branch to nowhere": ((0x4700,), BUS_FAULT, 1 << 8, None),
    "branch to a register": ((0x4700,), MEM_MANAGE, 1 << 0, None),
}
TARGETS = {
    "branch without the Thumb bit": FLASH,
    "unaligned ldrex": RAM + 2,
    "load from nowhere": NOWHERE,
    "store to nowhere": NOWHERE,
    "store to flash": FLASH,
    "branch to nowhere": NOWHERE + 1,
    "branch to a register": 0x5000_8001,
}
each = pytest.mark.parametrize("name", FAULTS)


def provoke(chip: BareChip, name: str) -> None:
    """Run the instruction, and what it branches to, until there is a fault."""
    before = len(chip.machine.faults)
    chip.play(*FAULTS[name][0], steps=1, r0=TARGETS.get(name, 0), r1=0)
    if len(chip.machine.faults) == before:
        chip.machine.run(until_executed=chip.machine.core.executed + 1)


def set_special(chip: BareChip, register: int, value: int) -> None:
    """``msr register, r0``."""
    chip.play(0xF380, register, steps=1, r0=value)


def status(chip: BareChip) -> tuple[int, int]:
    return chip.read(CFSR), chip.read(HFSR)


@each
def test_a_fault_is_taken_by_its_handler_where_that_is_enabled(chip: BareChip, name: str) -> None:
    _, exception, cfsr, address = FAULTS[name]
    chip.write(SHCSR, ENABLE_ALL)
    provoke(chip, name)
    assert chip.running == exception
    assert status(chip) == (cfsr, 0)
    if address is not None:
        assert chip.read(BFAR) == address


@each
def test_a_disabled_fault_escalates_to_hard_fault(chip: BareChip, name: str) -> None:
    _, exception, cfsr, _ = FAULTS[name]
    chip.write(SHCSR, ENABLE_ALL & ~(1 << exception + 12))
    provoke(chip, name)
    assert chip.running == HARD_FAULT
    assert status(chip) == (cfsr, FORCED)
    (record,) = chip.machine.faults
    assert record.kind == "HardFault"
    assert record.cause == {4: "MemManage", 5: "BusFault", 6: "UsageFault"}[exception]


@each
def test_a_fault_in_the_hard_fault_handler_is_a_lockup(chip: BareChip, name: str) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    chip.play(0xBE00, steps=1)  # bkpt
    assert chip.running == HARD_FAULT
    provoke(chip, name)
    assert chip.machine.core.locked_up
    assert [fault.kind for fault in chip.machine.faults] == ["HardFault", "Lockup"]
    chip.machine.reset()
    assert not chip.machine.core.locked_up


@pytest.mark.parametrize(
    ("register", "value", "taken"),
    [
        (MSR_PRIMASK, 1, HARD_FAULT), (MSR_BASEPRI, 0x60, HARD_FAULT),
        (MSR_BASEPRI, 0x40, HARD_FAULT), (MSR_BASEPRI, 0x80, USAGE_FAULT),
        (MSR_BASEPRI, 0, USAGE_FAULT),
    ],
)  # fmt: skip
def test_a_masked_fault_escalates_to_hard_fault(
    chip: BareChip, register: int, value: int, taken: int
) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    chip.write(SHPR1, 0x0060_0000)  # UsageFault
    set_special(chip, register, value)
    provoke(chip, "undefined")
    assert chip.running == taken
    assert status(chip) == (1 << 16, FORCED if taken == HARD_FAULT else 0)


def test_with_faultmask_a_fault_is_a_lockup(chip: BareChip) -> None:
    set_special(chip, MSR_FAULTMASK, 1)
    provoke(chip, "undefined")
    assert chip.machine.core.locked_up


@pytest.mark.parametrize(("own", "taken"), [(0x20, USAGE_FAULT), (0x40, HARD_FAULT)])
def test_a_fault_in_a_handler_needs_a_higher_priority(chip: BareChip, own: int, taken: int) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    chip.write(SHPR1, own << 16)
    chip.write(SHPR3, 0x0040_0000)  # PendSV
    chip.write(ICSR, 1 << 28)
    chip.wait(1)
    assert chip.running == 14
    provoke(chip, "undefined")
    assert chip.running == taken
    (record,) = chip.machine.faults
    assert record.exception == 14


def test_a_fault_after_an_unaligned_one_has_its_own_status(chip: BareChip) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    provoke(chip, "unaligned ldrex")
    provoke(chip, "branch without the Thumb bit")
    assert [fault.reason for fault in chip.machine.faults] == ["UNALIGNED", "INVSTATE"]


# SVC and BKPT


def test_a_supervisor_call_returns_behind_its_instruction(
    chip: BareChip,
) -> None:
    chip.play(0xDF07, steps=1)  # svc #7
    assert chip.running == SVCALL
    chip.play(0x4770, steps=1)  # bx lr
    assert chip.running == 0
    assert chip.machine.registers["pc"] == CODE + 2
    assert chip.machine.faults == []


@pytest.mark.parametrize(("primask", "taken"), [(0, SVCALL), (1, HARD_FAULT)])
def test_a_masked_supervisor_call_escalates_to_hard_fault(
    chip: BareChip, primask: int, taken: int
) -> None:
    set_special(chip, MSR_PRIMASK, primask)
    chip.play(0xDF00, steps=1)
    assert chip.running == taken
    assert chip.read(HFSR) == (FORCED if primask else 0)
    records = [(f.kind, f.cause, f.reason) for f in chip.machine.faults]
    assert records == ([("HardFault", "SVCall", "")] if primask else [])


def test_a_supervisor_call_at_negative_priority_is_a_lockup(chip: BareChip) -> None:
    set_special(chip, MSR_FAULTMASK, 1)
    chip.play(0xDF00, steps=1)
    assert chip.machine.core.locked_up
    assert [(f.kind, f.cause) for f in chip.machine.faults] == [("Lockup", "SVCall")]


def test_a_breakpoint_without_a_debugger_is_a_hard_fault(chip: BareChip) -> None:
    chip.play(0xBE00, steps=1)
    assert chip.running == HARD_FAULT
    assert status(chip) == (0, DEBUGEVT)
    (record,) = chip.machine.faults
    assert (record.kind, record.cause, record.reason) == ("HardFault", "HardFault", "DEBUGEVT")


# what a record says


def test_a_record_holds_the_registers_at_the_fault(chip: BareChip) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    values = {f"r{n}": 0x100 + n for n in range(13)} | {"lr": 0x1235, "sp": 0x2000_8000}
    chip.play(0x6801, steps=1, **{**values, "r0": NOWHERE})
    (record,) = chip.machine.faults
    assert record.registers[:13] == (NOWHERE, *(0x100 + n for n in range(1, 13)))
    assert (record.sp, record.lr, record.pc) == (0x2000_8000, 0x1235, CODE)
    assert record.registers[13:16] == (0x2000_8000, 0x1235, CODE)
    assert record.registers[16] & 1 << 24
    assert (record.stack, record.exception, record.address) == ("MSP", 0, NOWHERE)
    assert record.instructions == 1  # what ran before
    assert (record.cfsr, record.hfsr, record.sfsr) == (0x8200, 0, 0)
    assert (record.world, record.target) == ("", "")


def test_records_are_bounded(chip: BareChip) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    for _ in range(201):
        chip.play(0xDE00, steps=1)
        chip.machine.core.leave(chip.machine.registers["lr"])
    assert len(chip.machine.faults) == 200


def test_cleared_fault_records_are_gone(chip: BareChip) -> None:
    chip.read(0x5084_0510)
    chip.play(0xDE00, steps=1)
    chip.machine.clear_evidence()
    assert (chip.machine.faults, chip.machine.findings) == ([], [])
    chip.read(0x5084_0510)
    assert len(chip.machine.findings) == 1


# the stack and the vectors


@pytest.mark.parametrize("enabled", [False, True])
def test_a_frame_that_does_not_fit_is_a_fault_of_the_stack(chip: BareChip, enabled: bool) -> None:
    """STKERR where there is no memory; it escalates like any fault."""
    chip.write(SHCSR, ENABLE_ALL * enabled)
    chip.write(ICSR, 1 << 28)
    chip.play(0xBF00, steps=2, sp=RAM + 0x10)
    assert chip.read(CFSR) == 1 << 12
    assert chip.read(HFSR) == (0 if enabled else FORCED)
    assert chip.machine.faults[0].reason == "STKERR"
    assert chip.machine.faults[0].exception == 0


@pytest.mark.parametrize(("below", "overflows"), [(0x20, False), (0x1F, True), (0, True)])
def test_a_frame_below_the_limit_is_a_stack_overflow(
    chip: BareChip, below: int, overflows: bool
) -> None:
    chip.write(SHCSR, ENABLE_ALL)
    limit = RAM + 0x4000
    set_special(chip, MSR_MSPLIM, limit)
    chip.write(ICSR, 1 << 28)
    chip.play(0xBF00, steps=1, sp=limit + (below & ~7))
    assert chip.read(CFSR) == (1 << 20 if overflows else 0)
    if overflows:
        assert chip.machine.faults[0].reason == "STKOF"
        assert chip.machine.registers["sp"] == limit


@pytest.mark.parametrize(("vtor", "locks_up"), [(NOWHERE, True), (RAM + 0x8000, False)])
def test_a_vector_that_cannot_be_read_is_a_hard_fault(
    chip: BareChip, vtor: int, locks_up: bool
) -> None:
    chip.machine.write_memory(RAM + 0x8000, (CODE | 1).to_bytes(4, "little") * 16)
    chip.write(0xE000_ED08, vtor)
    chip.write(ICSR, 1 << 28)
    chip.wait(1)
    assert chip.machine.core.locked_up is locks_up
    assert chip.read(HFSR) == (VECTTBL if locks_up else 0)


def test_a_vector_without_the_thumb_bit_faults_in_the_handler(chip: BareChip) -> None:
    table = b"".join(word.to_bytes(4, "little") for word in [CODE | 1] * 14 + [FLASH, CODE | 1])
    chip.machine.write_memory(RAM + 0x8000, table)
    chip.write(0xE000_ED08, RAM + 0x8000)
    chip.write(ICSR, 1 << 28)
    chip.machine.run(until_executed=chip.machine.core.executed + 1)
    (record,) = chip.machine.faults
    assert (record.cause, record.reason, record.exception) == ("UsageFault", "INVSTATE", 14)
    assert record.pc == FLASH
