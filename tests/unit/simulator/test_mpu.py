"""The MPU: the simulator, and a model of it, against the rules of the architecture.

Armv8-M ARM, R_BVLF and the pseudocode of MPUCheck: no region, the background for privileged code
if PRIVDEFENA is set; one region, its rights; several, a fault.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.elf import Image
from harness.simulator.machine import End, Machine

HZ = 64_000_000
LOAD, STORE, BYTE, PAIR, LOAD_AS_USER, STORE_AS_USER, RUN, LOAD_MASKED = range(8)
STORES = {STORE, BYTE, PAIR, STORE_AS_USER}
AS_USER = {LOAD_AS_USER, STORE_AS_USER}
ENABLE, HFNMIENA, PRIVDEFENA = 1, 2, 4
IACCVIOL, DACCVIOL, MMARVALID = 1 << 0, 1 << 1, 1 << 7
ARENA = 4096
_RETURN = bytes.fromhex("7047")  # bx lr


@dataclass(frozen=True)
class Region:
    """A region of ``size`` bytes from ``start``, both multiples of 32, in the firmware's arena."""

    start: int
    size: int
    unprivileged: bool = True
    read_only: bool = False
    execute_never: bool = False

    def holds(self, offset: int) -> bool:
        return self.start <= offset < self.start + self.size

    def registers(self, arena: int) -> tuple[int, int]:
        rights = self.read_only << 2 | self.unprivileged << 1 | self.execute_never
        return arena + self.start | rights, arena + self.start + self.size - 32 | 1


@dataclass(frozen=True)
class Access:
    """What is tried at ``at`` bytes of the arena, under which registers; what they were before."""

    kind: int
    at: int = 0
    user: bool = False
    control: int = ENABLE
    regions: tuple[Region, ...] = ()
    earlier: tuple[Region, ...] = ()

    @property
    def size(self) -> int:
        return {BYTE: 1, PAIR: 8, RUN: 2}.get(self.kind, 4)

    def refused_at(self) -> int | None:
        """The first byte that the architecture refuses, None if the access passes."""
        return next((b for b in range(self.at, self.at + self.size) if not self._allows(b)), None)

    def _allows(self, byte: int) -> bool:
        privileged = not self.user and self.kind not in AS_USER
        hits = [region for region in self.regions if region.holds(byte)]
        if not hits:
            return privileged and bool(self.control & PRIVDEFENA)
        if len(hits) > 1:
            return False
        refused = self.kind in STORES and hits[0].read_only
        refused |= self.kind == RUN and hits[0].execute_never
        return not refused and (privileged or hits[0].unprivileged)


@dataclass(frozen=True)
class Outcome:
    """CFSR, MMFAR and the stacked pc of the fault, or zeros."""

    status: int
    address: int
    pc: int


class Bench:
    """The firmware ``mpu``, tried again and again."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._go("Ready")
        self.arena = self._symbol("arena")

    def _symbol(self, name: str) -> int:
        symbol = self.machine.firmware.symbol(name)
        assert symbol is not None
        return symbol.address & ~1

    def _go(self, name: str) -> End:
        machine = self.machine
        machine.hook(name, lambda _: True)
        end = machine.run(until_tick=machine.now + HZ)
        machine.unhook(self._symbol(name))
        return end

    def start(self, access: Access) -> End:
        """Everything outside the arena is one region each: code, data, stack."""
        machine, arena = self.machine, self.arena
        machine.write_memory(arena, _RETURN * (ARENA // 2))
        for name, wanted in (("earlier", access.earlier), ("regions", access.regions)):
            rows = [(0 | 6, 0xF_FFE1), (0x2000_0000 | 3, arena - 32 | 1)]
            rows += [(arena + ARENA | 3, 0x2003_FFE1)]
            rows += [region.registers(arena) for region in wanted]
            rows += [(0, 0)] * (16 - len(rows))
            machine.write_memory(self._symbol(name), struct.pack("<32I", *sum(rows, ())))
        for name, value in (
            ("control", access.control),
            ("kind", access.kind),
            ("unprivileged", access.user),
            ("target", arena + access.at),
        ):
            machine.write_memory(self._symbol(name), struct.pack("<I", value))
        return self._go("Done")

    def outcome(self) -> Outcome:
        words = self.machine.read_memory(self._symbol("results"), 12)
        self._go("Ready")
        return Outcome(*struct.unpack("<3I", words))


@pytest.fixture(scope="module")
def bench(build: Callable[[str], Image]) -> Iterator[Bench]:
    machine = Machine(build("mpu"))
    yield Bench(machine)
    machine.close()


@pytest.fixture(scope="module")
def data_bench(build: Callable[[str], Image]) -> Iterator[Bench]:
    machine = Machine(build("mpu"))
    yield Bench(machine)
    machine.close()


def hold_against_the_architecture(bench: Bench, access: Access) -> None:
    assert bench.start(access) is End.CONDITION
    outcome = bench.outcome()
    refused = access.refused_at()
    if refused is None:
        assert outcome == Outcome(0, 0, 0)
    elif access.kind == RUN:
        assert (outcome.status, outcome.pc) == (IACCVIOL, bench.arena + access.at)
    else:
        assert outcome.status == DACCVIOL | MMARVALID
        assert outcome.address == bench.arena + refused
        assert bench.machine.firmware.locate(outcome.pc).function == "Access"


regions = st.builds(
    Region,
    st.integers(0, ARENA // 32 - 1).map(lambda n: 32 * n),
    st.sampled_from([32, 64, 512, 1024, 1056, 2048]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
).filter(lambda region: region.start + region.size <= ARENA)


DATA = (LOAD, STORE, BYTE, PAIR, LOAD_AS_USER, STORE_AS_USER)


def accesses(*kinds: int, most_regions: int) -> st.SearchStrategy[Access]:
    return st.builds(
        Access,
        kind=st.sampled_from(kinds),
        at=st.integers(0, ARENA - 8),
        user=st.booleans(),
        control=st.sampled_from([ENABLE, ENABLE | PRIVDEFENA]),
        regions=st.lists(regions, max_size=most_regions).map(tuple),
        earlier=st.lists(regions, max_size=most_regions).map(tuple),
    ).map(aligned)


def aligned(access: Access) -> Access:
    """``access`` at an address that its instruction accepts: single words may be unaligned.

    Not over the edge of a region: there Unicorn may check the first part only.
    """
    over_edge = access.at % 32 + access.size > 32
    return replace(
        access, at=access.at & -{PAIR: 4, RUN: 2}.get(access.kind, 4 if over_edge else 1)
    )


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@example(Access(RUN, earlier=(Region(0, 32),)))  # code in a page where a region ends
@given(access=accesses(*DATA, RUN, most_regions=6))
def test_each_access_is_checked_independently_of_earlier_ones(bench: Bench, access: Access) -> None:
    hold_against_the_architecture(bench, access)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(access=accesses(*DATA, most_regions=13))
def test_data_accesses_are_checked_before_any_code_ran_in_ram(
    data_bench: Bench, access: Access
) -> None:
    hold_against_the_architecture(data_bench, access)


@pytest.mark.parametrize("user", [False, True])
@pytest.mark.parametrize("control", [ENABLE, ENABLE | PRIVDEFENA])
@pytest.mark.parametrize(
    "regions",
    [(), (Region(64, 64),), (Region(0, 1024),), (Region(0, 1024, execute_never=True),)],
)
def test_the_first_code_in_ram_needs_execute_permission(
    build: Callable[[str], Image], regions: tuple[Region, ...], control: int, user: bool
) -> None:
    fresh = Bench(Machine(build("mpu")))
    for kind in (STORE, RUN, STORE):
        access = Access(kind, user=user, control=control, regions=regions)
        hold_against_the_architecture(fresh, access)
    fresh.machine.close()


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    regions=st.lists(regions, max_size=4).map(tuple),
    control=st.sampled_from([ENABLE, ENABLE | PRIVDEFENA]),
    write=st.booleans(),
    user=st.booleans(),
    at=st.integers(0, ARENA - 1),
)
def test_the_frame_check_agrees_with_the_reference_model(
    bench: Bench, regions: tuple[Region, ...], control: int, write: bool, user: bool, at: int
) -> None:
    registers = bench.machine.engine.mpus[False]
    kept = registers.save()
    registers.reset()
    registers.write(0x94, control)
    for number, region in enumerate(regions):
        registers.write(0x98, number)
        base, limit = region.registers(0)
        registers.write(0x9C, base)
        registers.write(0xA0, limit)
    refused = Access(STORE if write else LOAD, at, user, control, regions).refused_at()
    assert registers.allows(at, write, not user) is (refused != at)
    words = range(at, at + 4)
    held = {bytes_held(regions, byte) for byte in words}
    if len(held) == 1:
        allowed = all(registers.allows(byte, write, not user) for byte in words)
        assert allowed is (refused is None)
    registers.load(kept)


def test_registers_of_regions_that_are_not_there_read_as_zero(bench: Bench) -> None:
    registers = bench.machine.engine.mpus[True]
    for number in (15, 16):
        registers.write(0x98, number)
        registers.write(0x9C, 0x2000_0000)
    assert (registers.read(0x98), registers.read(0x9C)) == (16, 0)
    registers.write(0x98, 12)
    assert registers.read(0xB4) == 0x2000_0000  # RBAR_A3
    assert registers.read(0xBC) == 0
    registers.reset()


def bytes_held(regions: tuple[Region, ...], byte: int) -> tuple[int, ...]:
    return tuple(n for n, region in enumerate(regions) if region.holds(byte))


@pytest.mark.parametrize(("user", "kind"), [*product([False, True], [LOAD, STORE, RUN])])
def test_with_the_mpu_off_everything_passes(bench: Bench, user: bool, kind: int) -> None:
    bench.start(Access(kind, user=user, control=0, regions=(Region(0, 1024, False, True, True),)))
    assert bench.outcome() == Outcome(0, 0, 0)


def test_code_of_negative_priority_is_not_checked_without_hfnmiena(bench: Bench) -> None:
    bench.start(Access(LOAD_MASKED, 64))
    assert bench.outcome() == Outcome(0, 0, 0)
    bench.start(Access(LOAD, 64))
    assert bench.outcome().status == DACCVIOL | MMARVALID


def test_code_of_negative_priority_is_checked_with_hfnmiena(
    build: Callable[[str], Image],
) -> None:
    machine = Machine(build("mpu"))
    end = Bench(machine).start(Access(LOAD_MASKED, 64, control=ENABLE | HFNMIENA))
    assert end is End.LOCKUP
    assert machine.faults[-1].reason.startswith("DACCVIOL")
    machine.close()


def test_an_access_over_the_edge_of_a_region_faults_behind_it(bench: Bench) -> None:
    region = Region(992, 64)
    bench.start(Access(PAIR, 1052, user=True, regions=(region,)))
    assert bench.outcome().address == bench.arena + 1056


@pytest.mark.parametrize("slices", [None, 1, 7])
def test_code_in_ram_runs_as_last_written_with_and_without_the_mpu(
    build: Callable[[str], Image], slices: int | None
) -> None:
    machine = Machine(build("ramcode"))
    while machine.run(until_tick=HZ, until_executed=machine.core.executed + (slices or HZ)) is (
        End.CONDITION
    ):
        pass
    found = machine.firmware.symbol("results")
    assert found is not None
    words = struct.unpack("<21I", machine.read_memory(found.address, 84))
    wanted = [n for r in range(4) for n in (10 * r + 1, 10 * r + 2, r + 1, 10 * r + 4, 10 * r + 3)]
    assert list(words) == [*wanted, 1]
    machine.close()
