"""Loops that can change nothing are skipped to the next event, as if they had been run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.elf import Image
from harness.simulator.machine import End, Machine

Build = Callable[[str], Image]
HZ = 64_000_000
WHOLE = 250_000  # instructions: some ticks in each kind of loop


def state(machine: Machine) -> tuple[object, ...]:
    ram = hashlib.sha256(machine.read_memory(0x2000_0000, 0x4_0000)).hexdigest()
    printed = [(chunk.time, chunk.data) for chunk in machine.console]
    return machine.core.executed, machine.now, printed, ram, machine.registers


def by_function(machine: Machine) -> Counter[str]:
    """Executed instructions. Where bytes leave a loop is entered in its middle: not if skipped."""
    counts: Counter[str] = Counter()
    for address, count in machine.core.profile().items():
        counts[machine.firmware.locate(address).function] += count
    return counts


def run(machine: Machine, until: int) -> None:
    assert machine.run(until_executed=until, until_tick=HZ) is End.CONDITION


@pytest.fixture(scope="module")
def executed(build: Build) -> tuple[tuple[object, ...], Counter[str]]:
    """What the firmware ``idle`` does when nothing is skipped."""
    machine = Machine(build("idle"))
    machine.core.skip_idle = False
    run(machine, WHOLE)
    result = state(machine), by_function(machine)
    machine.close()
    return result


def test_skipping_changes_neither_counts_nor_time_nor_interrupts(
    build: Build, executed: tuple[tuple[object, ...], Counter[str]]
) -> None:
    machine = Machine(build("idle"))
    run(machine, WHOLE)
    assert (state(machine), by_function(machine)) == executed
    machine.close()


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(st.integers(1, 9_000), min_size=1, max_size=60))
def test_slices_give_the_same_run(
    build: Build, executed: tuple[tuple[object, ...], Counter[str]], steps: list[int]
) -> None:
    machine = Machine(build("idle"))
    for step in steps:
        if machine.core.executed + step < WHOLE:
            run(machine, machine.core.executed + step)
    run(machine, WHOLE)
    assert state(machine) == executed[0]
    machine.close()


def test_an_endless_loop_costs_nothing(build: Build) -> None:
    machine = Machine(build("idle"))
    hours = 1000 * 3600 * HZ
    machine.run(until_tick=HZ, pattern=b"idle")
    machine.devices["RTC0"].write(0x308, 1 << 16)  # now no event is left
    assert machine.run(until_tick=hours) is End.DEADLINE
    assert machine.now == machine.core.executed == hours
    machine.close()
