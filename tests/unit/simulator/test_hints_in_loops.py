"""WFI with something pending does nothing; a loop around it is skipped like any idle one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.elf import Image
from harness.simulator.machine import BRANCHES, INSTRUCTIONS, End, Machine

Build = Callable[[str], Image]
HZ = 64_000_000
#: All of the firmware's work, and some turns of its last loop.
WHOLE = 250_000


def ran(machine: Machine) -> tuple[object, ...]:
    printed = [(chunk.time, chunk.data) for chunk in machine.console]
    return machine.core.executed, machine.now, printed, machine.registers


@pytest.mark.parametrize("timing", [INSTRUCTIONS, BRANCHES])
@pytest.mark.parametrize("most", [WHOLE, 1000, 7, pytest.param(1, marks=pytest.mark.slow)])
def test_skipped_turns_count_as_if_they_had_been_run(build: Build, timing: str, most: int) -> None:
    one, other = (Machine(build("pending"), timing=timing) for _ in range(2))
    one.core.skip_idle = False
    one.run(until_executed=WHOLE, until_tick=HZ)
    while other.core.executed < WHOLE:
        other.run(until_executed=min(other.core.executed + most, WHOLE), until_tick=HZ)
    assert ran(other) == ran(one)
    assert b"waited" in other.console.since(0)
    # Where blocks are cut differs, so the instructions of a block may stand at its parts.
    assert sum(other.core.profile().values()) == sum(one.core.profile().values())
    one.close()
    other.close()


def test_an_hour_of_wfi_with_an_interrupt_pending_takes_few_steps(build: Build) -> None:
    machine = Machine(build("pending"))
    machine.run(until_executed=WHOLE)
    entered = machine.core.profile()
    assert machine.run(until_tick=3600 * HZ) is End.DEADLINE
    assert machine.core.executed >= 3599 * HZ
    assert machine.core.profile().keys() == entered.keys()
    machine.close()


def test_with_stand_the_loop_is_the_end(build: Build) -> None:
    machine = Machine(build("pending"))
    assert machine.run(until_tick=HZ, stop_when_idle=True) is End.IDLE
    assert machine.sleeping == ""
    machine.close()
