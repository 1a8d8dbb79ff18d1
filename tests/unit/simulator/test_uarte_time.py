"""A transfer in slices: bytes, times and events are those of one run."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from harness.elf import Image
from harness.simulator import Machine, snapshot

END = 4_000_000


def outcome(machine: Machine) -> tuple[object, ...]:
    console = [(chunk.time, chunk.data) for chunk in machine.console]
    return machine.core.executed, machine.now, console, machine.read_memory(0x2000_0000, 0x4000)


@pytest.fixture(scope="module")
def busy(build: Callable[[str], Image]) -> Image:
    return build("busy_sender")


@pytest.fixture(scope="module")
def whole(busy: Image) -> tuple[object, ...]:
    machine = Machine(busy)
    machine.run(until_tick=END)
    return outcome(machine)


def test_a_buffer_is_read_as_its_bytes_leave(busy: Image) -> None:
    machine = Machine(busy)
    machine.run(until_tick=END)
    text = machine.console.since(0)
    assert text.startswith(b"polled 0\npolled 1\n")
    # The second half is overwritten once more than the first has left.
    assert re.search(rb"\na{9,11}b{5,7}\n", text)
    assert [finding.subject for finding in machine.findings] == ["UARTE0.TXD.PTR"]


@pytest.mark.parametrize("step", [997, 5_564, 100_003])
def test_slices_change_nothing(busy: Image, whole: tuple[object, ...], step: int) -> None:
    machine = Machine(busy)
    for tick in range(step, END, step):
        machine.run(until_tick=tick)
    machine.run(until_tick=END)
    assert outcome(machine) == whole


def test_slices_change_nothing_where_branches_take_time(busy: Image) -> None:
    whole, sliced = Machine(busy, timing="branches"), Machine(busy, timing="branches")
    whole.run(until_tick=END)
    for tick in range(9_973, END, 9_973):
        sliced.run(until_tick=tick)
    sliced.run(until_tick=END)
    assert outcome(sliced) == outcome(whole)


@pytest.mark.parametrize("step", [1, 7])
def test_slices_of_instructions_change_nothing(
    busy: Image, whole: tuple[object, ...], step: int
) -> None:
    machine = Machine(busy)
    machine.run(until_tick=300_000)
    for _ in range(20_000):
        machine.run(until_executed=machine.core.executed + step, until_tick=END)
    machine.run(until_tick=END)
    assert outcome(machine) == whole


@pytest.mark.parametrize("tick", [200_000, 700_000, 1_500_000])
def test_a_snapshot_in_a_transfer_goes_on_with_it(
    busy: Image, whole: tuple[object, ...], tick: int
) -> None:
    machine = Machine(busy)
    machine.run(until_tick=tick)
    kept = snapshot.take(machine)
    machine.run(until_tick=END)
    snapshot.restore(machine, kept)
    machine.run(until_tick=END)
    assert outcome(machine) == whole
    other = Machine(busy)
    snapshot.restore(other, kept)
    other.run(until_tick=END)
    assert outcome(other) == whole
