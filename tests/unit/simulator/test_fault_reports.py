"""The text of a fault report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from bare_chip import CODE, LOOP, BareChip

from harness.base.clock import Deadline
from harness.base.exceptions import exception_name
from harness.base.fault_status import status_names
from harness.elf import Image
from harness.simulator.faults import target_of
from harness.simulator.machine import End, Machine


@pytest.fixture
def crashed(build: Callable[[str], Image]) -> Machine:
    machine = Machine(build("wildbranch"))
    end = machine.run(until_tick=10_000_000, guard=Deadline(60, guard=60))
    assert end is End.DEADLINE
    return machine


def test_the_last_blocks_are_those_before_the_fault_not_its_handlers(crashed: Machine) -> None:
    report = crashed.fault_report(crashed.faults[0])
    blocks = report.partition("last blocks before it, oldest first:\n")[2].splitlines()
    assert 0 < len(blocks) <= 16
    assert not any("HardFault" in block for block in blocks)
    assert "Caller" in blocks[-1]
    assert any("Main" in block for block in blocks)


def test_a_branch_outside_code_is_located_by_its_caller(crashed: Machine) -> None:
    (fault,) = crashed.faults
    assert fault.pc == 0x30000000
    assert crashed.fault_place(fault).startswith("Caller")
    assert "the caller; pc is 0x30000000" in crashed.fault_place(fault)


def test_a_fault_names_the_stack_that_was_in_use(
    crashed: Machine, build: Callable[[str], Image]
) -> None:
    assert (crashed.faults[0].stack, crashed.faults[0].exception) == ("MSP", 0)
    machine = Machine(build("guard"))  # its threads run on the process stack
    machine.run(until_tick=64_000_000, pattern=b"done")
    first = machine.faults[0]
    assert first.stack == "PSP"
    assert first.sp == first.registers[13]
    assert "PSP, in thread mode" in machine.fault_report(first)
    machine.close()


def test_a_report_has_the_fault_its_location_and_the_registers(chip: BareChip) -> None:
    chip.write(0xE000_ED24, 0xF << 16)
    values = {f"r{n}": 0x100 + n for n in range(1, 13)}
    chip.play(0x6801, steps=1, r0=0x3000_0000, lr=CODE + 0x21, sp=0x2000_8000, **values)
    (record,) = chip.machine.faults
    here = chip.machine.firmware.locate(CODE)
    caller = chip.machine.firmware.locate(CODE + 0x1E)
    loop = chip.machine.firmware.locate(LOOP)
    assert chip.machine.fault_report(record).splitlines() == [
        "BusFault: PRECISERR, BFARVALID",
        "  loaded or stored where nothing answers",
        "  address 0x30000000",
        f"  pc 0x20020000  {here}",
        f"  lr 0x20020021  {caller}",
        "  sp 0x20008000  MSP, in thread mode",
        "  r0  30000000  r1  00000101  r2  00000102  r3  00000103",
        "  r4  00000104  r5  00000105  r6  00000106  r7  00000107",
        "  r8  00000108  r9  00000109  r10 0000010a  r11 0000010b",
        "  r12 0000010c",
        "  xpsr 01000000  cfsr 00008200  hfsr 00000000  after 1 instructions",
        "  last blocks before it, oldest first:",
        f"    0x{LOOP:08x}  {loop}",
        f"    0x20020000  {here}",
    ]


@pytest.mark.parametrize(
    ("enable", "first"),
    [(0xF << 16, "UsageFault: UNDEFINSTR"),
     (0, "HardFault: UNDEFINSTR, FORCED (escalated from UsageFault)")],
)  # fmt: skip
def test_a_report_names_the_fault_before_escalation(
    chip: BareChip, enable: int, first: str
) -> None:
    chip.write(0xE000_ED24, enable)
    chip.play(0xDE00, steps=1)
    report = chip.machine.fault_report(chip.machine.faults[0])
    assert report.splitlines()[0] == first
    assert "address 0x" not in report


def test_a_breakpoint_is_reported_as_debugevt(chip: BareChip) -> None:
    chip.play(0xBE00, steps=1)
    report = chip.machine.fault_report(chip.machine.faults[0]).splitlines()
    assert report[:2] == ["HardFault: DEBUGEVT", "  a breakpoint instruction without a debugger"]


def test_a_report_of_a_lockup_is_named_lockup(chip: BareChip) -> None:
    for _ in range(2):
        chip.play(0xDE00, steps=1)
    reports = [chip.machine.fault_report(fault).splitlines() for fault in chip.machine.faults]
    assert reports[1][0] == "Lockup: UNDEFINSTR"
    assert any(line.endswith("MSP, in HardFault") for line in reports[1])


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "thread mode"), (2, "NMI"), (3, "HardFault"), (4, "MemManage"), (5, "BusFault"),
     (6, "UsageFault"), (7, "SecureFault"), (9, "#9"), (11, "SVCall"), (12, "DebugMonitor"),
     (14, "PendSV"), (15, "SysTick"), (16, "IRQ0"), (80, "IRQ64")],
)  # fmt: skip
def test_exceptions_are_named(number: int, name: str) -> None:
    assert exception_name(number) == name


@pytest.mark.parametrize(
    ("cfsr", "hfsr", "sfsr", "names"),
    [
        (0, 0, 0, []),
        (0x0000_009B, 0, 0, ["IACCVIOL", "DACCVIOL", "MUNSTKERR", "MSTKERR", "MMARVALID"]),
        (0x0000_9B00, 0, 0, ["IBUSERR", "PRECISERR", "UNSTKERR", "STKERR", "BFARVALID"]),
        (0x031F_0000, 0, 0, ["UNDEFINSTR", "INVSTATE", "INVPC", "NOCP", "STKOF", "UNALIGNED",
                             "DIVBYZERO"]),
        (0, 0xC000_0002, 0, ["VECTTBL", "FORCED", "DEBUGEVT"]),
        (0, 0, 0xFF, ["INVEP", "INVIS", "INVER", "AUVIOL", "INVTRAN", "LSPERR", "SFARVALID",
                      "LSERR"]),
    ],
)  # fmt: skip
def test_status_bits_are_named(cfsr: int, hfsr: int, sfsr: int, names: list[str]) -> None:
    """Armv8-M ARM, D1.2: CFSR, HFSR, SFSR."""
    assert status_names(cfsr, hfsr, sfsr) == names


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        (0x2000_0000, "secure RAM"), (0x2002_0000, "non-secure RAM"), (0x0000_0100, "secure flash"),
        (0x00FF_0000, "secure FICR"), (0x00FF_8000, "secure UICR"), (0x5000_8500, "secure UARTE0"),
        (0x4000_8500, "secure UARTE0"), (0x5000_9500, "non-secure UARTE1"),
        (0x5000_3600, "secure SPU"), (0x4003_1000, "non-secure GPIOTE1"),
        (0x3000_0000, "non-secure address"), (0x5084_27FC, "secure P0"),
        (0x5084_2800, "secure address"),
    ],
)  # fmt: skip
def test_an_address_is_described_by_its_memory_or_peripheral(
    chip: BareChip, address: int, whose: str
) -> None:
    chip.divide()
    chip.write(0x5000_3800 + 4 * 9, 0)  # UARTE1 is non-secure
    chip.play(0xDE00, steps=1)
    fault = replace(chip.machine.faults[0], cause="BusFault", reason="", address=address)
    chip_map, is_secure = chip.machine.memory_map, chip.machine.chip.is_secure
    told = [target_of(fault, chip_map, is_secure, is_write=is_write) for is_write in (False, True)]
    assert told == [f"read of {whose}", f"write to {whose}"]
