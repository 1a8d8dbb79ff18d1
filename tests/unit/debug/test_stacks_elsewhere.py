"""Call stacks through a board's debug port equal those of the simulator."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.base.errors import TargetLost
from harness.debug.report import StateReporter
from harness.elf import Image
from harness.simulator import Machine
from harness.simulator.debug_port import DebugPort
from harness.targets.board.core import core_state

TICKS = 2_000_000


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
