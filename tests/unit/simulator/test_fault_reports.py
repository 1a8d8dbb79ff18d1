"""What a fault report says of the way to the fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.deadline import Deadline
from harness.elf import Firmware
from harness.simulator.machine import End, Machine


@pytest.fixture
def crashed(build: Callable[[str], Firmware]) -> Machine:
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


def test_a_wild_branch_is_named_by_its_caller(crashed: Machine) -> None:
    (fault,) = crashed.faults
    assert fault.pc == 0x30000000
    assert crashed.fault_place(fault).startswith("Caller")
    assert "the caller; pc is 0x30000000" in crashed.fault_place(fault)


def test_a_fault_names_the_stack_that_was_in_use(
    crashed: Machine, build: Callable[[str], Firmware]
) -> None:
    assert (crashed.faults[0].stack, crashed.faults[0].exception) == ("MSP", 0)
    machine = Machine(build("guard"))  # its threads run on the process stack
    machine.run(until_tick=64_000_000, pattern=b"done")
    first = machine.faults[0]
    assert first.stack == "PSP"
    assert first.sp == first.registers[13]
    assert "PSP, in thread mode" in machine.fault_report(first)
    machine.close()
