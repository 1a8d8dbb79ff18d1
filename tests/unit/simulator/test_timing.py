"""``timing = "branches"``: a taken branch lasts a tick longer; counts do not change."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable

import pytest
from bare_chip import BareChip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import End, Machine
from harness.targets import simulator

Build = Callable[[str], Image]
HZ = 64_000_000
BRANCHES = "branches"
RAM = 0x2000_0000
UNTIL = 40_000  # ticks: interrupts, sleep and loops of each kind


def state(machine: Machine) -> tuple[object, ...]:
    ram = hashlib.sha256(machine.read_memory(0x2000_0000, 0x4_0000)).hexdigest()
    printed = [(chunk.time, chunk.data) for chunk in machine.console]
    return machine.core.executed, machine.now, printed, ram, machine.registers


def test_each_taken_branch_of_a_loop_lasts_a_tick_more(build: Build) -> None:
    plain, timed = Machine(build("compute")), Machine(build("compute"), timing=BRANCHES)
    for machine in (plain, timed):
        assert machine.run(until_executed=20_000, until_tick=HZ) is End.CONDITION
    assert plain.now == plain.core.executed == timed.core.executed
    blocks = sum(plain.core.profile().values())
    assert blocks == 20_000
    assert 0.05 < timed.core.branches / timed.core.executed < 0.5
    assert timed.now == timed.core.executed + timed.core.branches
    assert plain.registers == timed.registers
    plain.close()
    timed.close()


def test_a_branch_to_a_block_whose_operands_get_a_hook_takes_its_tick(waiting: Image) -> None:
    chip = BareChip(waiting, timing=BRANCHES)
    chip.machine.write_memory(RAM, struct.pack("<I", RAM))
    before = chip.machine.core.branches
    branch, load, load_two = (0xE000, 0xBF00), (0x6801,), (0xE9D1, 0x2300)  # b; ldr r1; ldrd [r1]
    chip.play(*branch, *load, *load_two, steps=3, r0=RAM)
    assert chip.machine.registers["r2"] == RAM
    assert chip.machine.core.branches - before == 1
    chip.machine.close()


def test_an_endless_branch_to_itself_takes_two_ticks_an_instruction(build: Build) -> None:
    machine = Machine(build("idle"), timing=BRANCHES)
    machine.run(until_tick=HZ, pattern=b"idle")
    machine.devices["RTC0"].write(0x308, 1 << 16)
    machine.run(until_tick=machine.now + 1000)
    before = machine.core.executed, machine.core.branches
    machine.run(until_tick=machine.now + 10**9)
    executed = machine.core.executed - before[0]
    assert abs(executed - (machine.core.branches - before[1])) <= 1
    assert 10**9 <= executed + machine.core.branches - before[1] <= 10**9 + 1
    machine.close()


@pytest.mark.parametrize("name", ["idle", "exceptions", "threads"])
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(st.integers(1, 400), min_size=1, max_size=60), skip=st.booleans())
def test_slices_and_skipped_loops_take_the_same_time(
    build: Build, name: str, steps: list[int], skip: bool
) -> None:
    whole, sliced = (Machine(build(name), timing=BRANCHES) for _ in range(2))
    sliced.core.skip_idle = skip
    for step in steps:
        sliced.run(until_executed=sliced.core.executed + step, until_tick=UNTIL)
    for machine in (whole, sliced):
        machine.run(until_tick=UNTIL)
    assert state(whole) == state(sliced)
    whole.close()
    sliced.close()


def test_a_snapshot_keeps_the_time(build: Build) -> None:
    machine = Machine(build("idle"), timing=BRANCHES)
    machine.run(until_executed=700, until_tick=HZ)
    kept, then = snapshot.take(machine), machine.now
    machine.run(until_tick=UNTIL)
    first = state(machine)
    snapshot.restore(machine, kept)
    assert machine.now == then
    machine.run(until_tick=UNTIL)
    assert state(machine) == first
    machine.close()


def test_an_unknown_timing_is_refused(build: Build) -> None:
    with pytest.raises(UsageError, match="no timing 'cycles'"):
        simulator.open(build("idle"), timing="cycles")
