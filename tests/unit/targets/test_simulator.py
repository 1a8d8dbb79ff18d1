"""A session on the simulator: ends of a run, console, counters, pins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.elf import Image
from harness.simulator.machine import BRANCHES
from harness.targets import (
    ConsoleMatch,
    Elapsed,
    Executed,
    Stop,
    SymbolReached,
    open_target,
)
from harness.targets.simulator import SimulatorSession

HZ = 64_000_000
RAM = 0x2000_0000

Open = Callable[..., SimulatorSession]


@pytest.fixture
def opened(build: Callable[[str], Image]) -> Iterator[Open]:
    """Opens a session on a firmware of tests/firmware, closed with the test."""
    with ExitStack() as held:

        def start(name: str, **options: Any) -> SimulatorSession:
            session = held.enter_context(open_target("simulator", build(name), **options))
            assert isinstance(session, SimulatorSession)
            return session

        yield start


def match(session: SimulatorSession, pattern: bytes, seconds: float = 1.0) -> Stop:
    return session.run(ConsoleMatch(pattern), session.deadline(seconds))


def test_a_run_ends_at_its_match(opened: Open) -> None:
    session = opened("nullcall")
    assert match(session, b"before\r\n") is Stop.CONDITION
    assert session.read() == b"before\r\n"
    assert session.faults == []


def test_a_run_ends_after_a_time_of_its_own_clock(opened: Open) -> None:
    session = opened("chatter")
    assert session.run(Elapsed(0.001), session.deadline(1)) is Stop.CONDITION
    assert session.counters.virtual_seconds == pytest.approx(0.001)
    assert session.run(Elapsed(0.002), session.deadline(0.001)) is Stop.DEADLINE
    assert session.counters.virtual_seconds == pytest.approx(0.002)
    assert session.run(Elapsed(0.001), session.deadline(0.001)) is Stop.CONDITION
    used_up = session.deadline(0.001)
    session.run(Elapsed(0.001), used_up)
    assert session.run(Elapsed(0.001), used_up) is Stop.DEADLINE


def test_a_run_ends_after_so_many_instructions(opened: Open) -> None:
    session = opened("compute")
    assert session.run(Executed(1000), session.deadline(1)) is Stop.CONDITION
    assert session.run(Executed(234), session.deadline(1)) is Stop.CONDITION
    counted = session.counters
    assert (counted.source, counted.instructions, counted.cycles) == ("simulator", 1234, None)
    assert counted.resets == 0 and 0 < counted.wall_seconds < 60


def test_a_symbol_is_reached_again_after_a_reset(opened: Open) -> None:
    session = opened("nullcall")
    for _ in range(2):
        assert session.run(SymbolReached("Main"), session.deadline(1)) is Stop.CONDITION
        assert session.read() == b""
        session.reset()


def test_a_stop_at_a_watched_function_leaves_it_watched(opened: Open) -> None:
    session = opened("nullcall")
    main = session.machine.firmware.symbol("Main")
    session.watch_calls([main.address])
    assert session.run(SymbolReached("Main"), session.deadline(1)) is Stop.CONDITION
    session.reset()
    match(session, b"before\r\n")
    assert [call.address for call in session.calls] == [main.address]


def test_a_run_ends_before_the_first_instruction_of_a_symbol(opened: Open) -> None:
    session = opened("nullcall")
    main = session.machine.firmware.symbol("Main")
    assert session.run(SymbolReached("Main"), session.deadline(1)) is Stop.CONDITION
    assert session.registers["pc"] == main.address
    assert session.where().startswith("Main at nullcall.c:")
    assert session.run(None, session.deadline(0.001)) is not Stop.CONDITION  # it is unhooked


def test_an_unknown_symbol_is_refused(opened: Open) -> None:
    session = opened("chatter")
    with pytest.raises(UsageError, match="no symbol 'nowhere'"):
        session.run(SymbolReached("nowhere"), session.deadline(1))


def test_a_run_ends_at_an_address(opened: Open) -> None:
    session = opened("nullcall")
    address = session.machine.firmware.symbol("Main").address
    assert session.run_to_address(address, session.deadline(1)) is Stop.CONDITION
    assert session.registers["pc"] == address
    assert session.run(None, session.deadline(0.001)) is not Stop.CONDITION


def test_a_run_ends_with_its_guard(opened: Open) -> None:
    session = opened("compute")
    assert session.deadline(1).guard == 60.0
    assert session.run(None, session.deadline(1000, guard=1e-6)) is Stop.GUARD


def test_output_is_read_once_and_kept_with_its_time(opened: Open) -> None:
    session = opened("chatter")
    got = b""
    for _ in range(3):
        session.run(Elapsed(0.001), session.deadline(1))
        got += session.read()
        assert b"".join(chunk.data for chunk in session.console) == got
    assert len(got) >= 3 and set(got) == {ord(".")}
    times = [chunk.time for chunk in session.console]
    assert times == sorted(set(times)) and times[0] > 0 and times[-1] <= 0.003


def test_written_bytes_are_received(opened: Open) -> None:
    session = opened("receive")
    match(session, b"ready")
    session.write(bytes(1 + 10240))
    assert match(session, b"received", 10) is Stop.CONDITION


def test_faults_are_decoded(opened: Open) -> None:
    session = opened("nullcall")
    assert session.run(None, session.deadline(1)) is Stop.LOCKUP
    first = session.faults[0]
    assert (first.kind, first.reason, first.pc) == ("HardFault", "INVSTATE, FORCED", 0)
    assert first.where == session.machine.fault_place(session.machine.faults[0])
    assert first.where.startswith("Reset at machine.h:")
    assert first.report == session.machine.fault_report(session.machine.faults[0])
    assert (first.world, first.image, first.access) == ("", "", "")
    assert first.lr and first.address is None


def test_memory_can_be_read_and_written_inside_the_chips_areas_only(opened: Open) -> None:
    session = opened("chatter")
    session.memory.write(RAM + 0x8000, b"hello")
    assert session.memory.read(RAM + 0x8000, 5) == b"hello"
    with pytest.raises(UsageError, match=r"^simulator: "):
        session.memory.read(0x7000_0000, 4)
    with pytest.raises(UsageError, match=r"^simulator: "):
        session.memory.write(0x7000_0000, b"x")


def test_a_reset_starts_the_image_again(opened: Open) -> None:
    session = opened("nullcall")
    match(session, b"before")
    session.reset()
    assert match(session, b"before") is Stop.CONDITION
    assert session.counters.resets == 1


def test_pins_are_driven_read_and_let_go(opened: Open) -> None:
    session = opened("pins")
    session.run(Elapsed(0.01), session.deadline(1))
    for level in (False, True):
        session.pins.drive(6, level)
        assert session.pins.read(6) is level
    session.pins.drive(6, None)
    assert session.pins.read(6) is True  # its pull resistor


def test_coverage_counts_from_the_start_of_profiling(opened: Open) -> None:
    session = opened("nullcall")
    match(session, b"before")
    assert session.coverage().functions["Main"] > 0
    session.profile()
    assert not session.coverage().functions


def test_time_may_count_taken_branches(opened: Open) -> None:
    session = opened("compute", timing=BRANCHES)
    session.run(Executed(10_000), session.deadline(1))
    assert session.counters.virtual_seconds > session.counters.instructions / HZ
    with pytest.raises(UsageError, match="no timing 'moon'") as refused:
        opened("compute", timing="moon")
    assert refused.value.hint == "instructions or branches"
