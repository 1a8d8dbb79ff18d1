"""RAM and registers at power-on, and what a reset leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.base.power_on import DEFAULT_SEED, R0, ZERO, pattern, words
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import Machine
from harness.simulator.unicorn import Reg

RAM, SIZE = 0x2000_0000, 0x4_0000
Open = Callable[..., Machine]


@pytest.fixture
def opened(waiting: Image) -> Iterator[Open]:
    machines = []

    def open_one(**options: int) -> Machine:
        machines.append(Machine(waiting, **options))
        return machines[-1]

    yield open_one
    for machine in machines:
        machine.close()


def core(machine: Machine) -> tuple[int, ...]:
    return tuple(machine.registers.values())[:13]


def floats(machine: Machine) -> list[int]:
    return [machine.core.read(Reg.S0 + number) for number in range(32)]


def test_ram_holds_the_pattern_of_the_seed(opened: Open) -> None:
    for seed in (DEFAULT_SEED, 7):
        assert opened(power_on=seed).read_memory(RAM, SIZE) == pattern(seed, RAM, SIZE)


def test_registers_hold_the_pattern_of_the_seed(opened: Open) -> None:
    machine = opened()
    assert core(machine) == words(DEFAULT_SEED, R0, 13)
    assert 0 not in floats(machine)
    assert floats(machine) != floats(opened(power_on=7))


def test_defined_registers_have_their_values(opened: Open) -> None:
    machine = opened()
    assert machine.registers["lr"] == 0xFFFF_FFFF
    assert machine.registers["sp"] == 0x2001_0000
    assert machine.registers["xpsr"] & 0x0700_FFFF == 0x0100_0000  # T; no exception, no ITSTATE
    assert [machine.core.read(one) for one in (Reg.CONTROL, Reg.PRIMASK, Reg.BASEPRI)] == [0] * 3


def test_zero_is_asked_for_by_name(opened: Open) -> None:
    machine = opened(power_on=ZERO)
    assert machine.read_memory(RAM, SIZE) == bytes(SIZE)
    assert core(machine) == (0,) * 13
    assert floats(machine) == [0] * 32


def test_a_reset_keeps_ram_and_undefines_registers(opened: Open) -> None:
    machine = opened()
    machine.write_memory(RAM, b"kept")
    machine.write_register("r7", 1)
    machine.core.write(Reg.S0, 1)
    machine.reset()
    assert machine.read_memory(RAM, 4) == b"kept"
    assert machine.read_memory(RAM + 4, 64) == pattern(DEFAULT_SEED, RAM + 4, 64)
    assert core(machine) == words(DEFAULT_SEED, R0, 13)
    assert machine.core.read(Reg.S0) != 1


def test_a_snapshot_brings_its_own_values(opened: Open) -> None:
    first, other = opened(), opened(power_on=7)
    snapshot.restore(other, snapshot.take(first))
    assert other.read_memory(RAM, SIZE) == first.read_memory(RAM, SIZE)
    assert other.registers == first.registers
    assert floats(other) == floats(first)
