"""Call stacks on Renode and through a board's debug port equal those of the simulator."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from fake_core import LR, PC, SP, XPSR
from fake_renode import FakeRenode, opened

from harness.base.core_state import MSP, PSP, CoreState
from harness.base.errors import TargetLost, Unsupported
from harness.case.observe import faults_with_stacks
from harness.debug.report import StateReporter
from harness.elf import Image
from harness.simulator import Machine
from harness.simulator.debug_port import DebugPort
from harness.targets import simulator
from harness.targets.board.core import core_state
from harness.targets.renode.session import RenodeSession, fault_handlers

CONTROL, OTHER_SP, CFSR = 18, 22, 0xE000_ED28
MS = 1_000_000
TICKS = 2_000_000


class HandlerEntry:
    """The simulator's core and RAM where the first fault's handler begins."""

    def __init__(self, image: Image) -> None:
        self.state: CoreState | None = None
        with simulator.open(image) as session:
            for handler in fault_handlers(image):
                session.machine.hook(handler, self._take)
            session.run(None, session.deadline(0.1))
            self.told = faults_with_stacks(session, image)[0]

    def _take(self, machine: Machine) -> bool:
        self.state = machine.core_state()
        return True


def put(renode: FakeRenode, state: CoreState) -> None:
    """The core of Renode as ``state`` has it."""
    values = renode.machine.cpu.values
    values.update(enumerate(state.registers[:16]))
    values[XPSR] = state.registers[16]
    on_psp = state.threads[False] == PSP
    in_handler = bool(state.registers[16] & 0x1FF)
    values[CONTROL] = 2 if on_psp else 0
    values[OTHER_SP] = state.stacks[False, MSP if on_psp and not in_handler else PSP]
    for address, data in state.memory:
        renode.machine.put(address, data)


def enters(renode: FakeRenode, state: CoreState) -> Callable[[int], None]:
    """What happens when Renode's core takes the fault."""

    def act(_: int) -> None:
        put(renode, state)
        pc = state.registers[15]
        for hook in list(renode.machine.cpu.hooks.get(pc, ())):
            hook(renode.machine.cpu, pc)

    return act


def run(session: RenodeSession) -> None:
    session.run(None, session.deadline(0.01))


@pytest.mark.parametrize("name", ["deep", "nullcall", "wildbranch", "faults", "ramcode"])
def test_a_fault_in_renode_has_the_simulators_call_stack(
    build: Callable[[str], Image], name: str
) -> None:
    image = build(name)
    entry = HandlerEntry(image)
    assert entry.state is not None
    renode = FakeRenode()
    renode.script = [(MS, enters(renode, entry.state))]
    with opened(renode, image) as session:
        run(session)
        (told,) = faults_with_stacks(session, image)[:1]
    assert told.callers == entry.told.callers
    assert stack_of(told.report) == stack_of(entry.told.report) != []


def stack_of(report: str) -> list[str]:
    """The lines of a report's call stack, and its stack but for the high-water mark."""
    lines = report[report.index("  call stack") :].splitlines()
    return [line.partition(", high-water")[0] for line in lines]


def at_rest(image: Image) -> tuple[CoreState, tuple[str, str]]:
    """The simulator's core after a while, and what is told of it."""
    with simulator.open(image) as session:
        session.run(None, session.deadline(TICKS / session.machine.memory_map.cpu_hz))
        state = session.core_state
        reporter = StateReporter(image)
        return state, (reporter.place(state), reporter.threads(state))


@pytest.mark.parametrize("name", ["deep", "mpu", "ramcode"])
def test_place_and_stacks_of_a_stopped_renode_equal_the_simulators(
    build: Callable[[str], Image], name: str
) -> None:
    image = build(name)
    state, told = at_rest(image)
    renode = FakeRenode()
    renode.script = [(MS, lambda _: put(renode, state))]
    with opened(renode, image) as session:
        run(session)
        put(renode, state)
        seen = session.core_state
        assert (seen.registers, seen.stacks) == (state.registers, state.stacks)
        reporter = StateReporter(image)
        assert (reporter.place(seen), reporter.threads(seen)) == told


def test_only_the_first_faults_are_kept_with_their_memory(build: Callable[[str], Image]) -> None:
    image = build("nullcall")
    entry = HandlerEntry(image)
    assert entry.state is not None
    renode = FakeRenode()
    renode.script = [(number * MS, enters(renode, entry.state)) for number in range(1, 8)]
    with opened(renode, image) as session:
        run(session)
        assert [fault.state is not None for fault in session.faults] == [True] * 4 + [False] * 3


@pytest.mark.parametrize(
    ("cfsr", "frame"), [(0, [0] * 8), (1 << 4, [9] * 8), (1 << 12, [9] * 8), (1 << 20, [9] * 8)]
)
def test_a_fault_without_a_frame_has_no_stack(
    build: Callable[[str], Image], cfsr: int, frame: list[int]
) -> None:
    """The processor could not write it: MSTKERR, STKERR, STKOF."""
    image = build("nullcall")
    renode = FakeRenode()

    def act(_: int) -> None:
        handler = fault_handlers(image)[0]
        renode.machine.cpu.values.update({PC: handler, SP: 0x2000_1000, LR: 0xFFFF_FFBC, XPSR: 3})
        renode.machine.put(0x2000_1000, struct.pack("<8I", *frame))
        renode.machine.put(CFSR, struct.pack("<I", cfsr))
        for hook in list(renode.machine.cpu.hooks[handler]):
            hook(renode.machine.cpu, handler)

    renode.script = [(MS, act)]
    with opened(renode, image) as session:
        run(session)
        assert session.faults[0].state is None


def test_a_lost_renode_has_no_stacks(build: Callable[[str], Image]) -> None:
    image = build("nullcall")
    renode = FakeRenode()
    with opened(renode, image) as session:
        renode.dies = True
        with pytest.raises(TargetLost):
            run(session)
        with pytest.raises(Unsupported, match="cannot show its stacks"):
            _ = session.core_state


class PortAccess:
    """A chip's debug port, as a probe's software uses it."""

    def __init__(self, port: DebugPort) -> None:
        self._port = port
        self.written: list[tuple[int, int]] = []

    def read(self, address: int, size: int) -> bytes:
        return bytes(self._port.read_block(address, size, 1))

    def word(self, address: int) -> int:
        return self._port.read_memory(address, 4)

    def write_word(self, address: int, word: int) -> None:
        self.written.append((address, word))
        self._port.write_memory(address, 4, word)


@pytest.mark.parametrize("halted", [False, True])
@pytest.mark.parametrize("name", ["threads", "counter", "deep"])
def test_the_state_through_a_debug_port_equals_the_simulators(
    build: Callable[[str], Image], name: str, halted: bool
) -> None:
    image = build(name)
    machine = Machine(image)
    machine.run(until_tick=TICKS)
    port = DebugPort(machine)
    if halted:
        port.core.hold()
    own = machine.core_state()
    seen = core_state(PortAccess(port), image.chip)
    assert (seen.registers, seen.memory) == (own.registers, own.memory)
    assert {key: seen.stacks[key] for key in own.stacks} == own.stacks
    assert seen.threads[False] == own.threads[False]
    assert StateReporter(image).threads(seen) == StateReporter(image).threads(own)
    assert (port.core.halted, port.core.enabled) == (halted, halted), "as it was before"
    machine.close()


class Deaf(PortAccess):
    """A core that does not halt."""

    def word(self, address: int) -> int:
        return 0


def test_a_core_that_does_not_halt_is_target_lost(build: Callable[[str], Image]) -> None:
    image = build("counter")
    machine = Machine(image)
    access = Deaf(DebugPort(machine))
    with pytest.raises(TargetLost, match="does not halt"):
        core_state(access, image.chip)
    assert access.written[-1][1] & 3 == 0, "it is let go"
    machine.close()
