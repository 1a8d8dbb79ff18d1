"""The agent inside Renode: console, time, resets, calls, pins, input, its own errors."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import framed_images
import needs
import pytest

from harness.base.findings import Kind
from harness.debug.report import StateReporter
from harness.targets import ConsoleMatch, Elapsed, Executed, Stop, SymbolReached, open_target
from harness.targets.renode.link import MonitorError

IMAGES = {image.name: image for image in framed_images.images("agent")}
CALLS = (
    "recursion", "call_in_a_handler", "loop_to_the_beginning", "jump_out", "reset_in_a_call",
)  # fmt: skip


def builder(compiler: str, folder: Path):
    """Builds images of the table in ``folder``."""

    def build(name: str, define: str = ""):
        image = IMAGES[name]
        return replace(image, define=define or image.define).build(compiler, folder)

    return build


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return builder(needs.require("arm-none-eabi-gcc"), tmp_path_factory.mktemp("agent"))


@contextmanager
def opening(build, server):
    """Opens sessions on images of the table, and closes them."""
    with ExitStack() as sessions:

        def open_on(name: str, define: str = "", target: str = "renode"):
            options = {"server": server} if target == "renode" else {}
            return sessions.enter_context(open_target(target, build(name, define), **options))

        yield open_on


@pytest.fixture
def opened(build, server):
    with opening(build, server) as open_on:
        yield open_on


# -- the console ----------------------------------------------------------------------------------


def test_a_match_may_begin_in_an_earlier_line_of_the_same_run(opened):
    session = opened("lines")
    assert session.run(ConsoleMatch(rb"one\ntwo\nthr"), session.deadline(1)) is Stop.CONDITION
    assert session.read() == b"one\ntwo\nthree"
    assert session.run(ConsoleMatch(rb"two|three"), session.deadline(1)) is Stop.IDLE


@pytest.mark.parametrize(("length", "stop"), [(1000, Stop.CONDITION), (1100, Stop.IDLE)])
def test_a_match_may_begin_1024_bytes_before_the_newest_line(opened, length, stop):
    session = opened("long_line", f"LENGTH {length}")
    assert session.run(ConsoleMatch(rb"ab+\nc"), session.deadline(1)) is stop


def test_a_run_ends_at_the_line_that_matches(opened):
    session = opened("lines")
    session.run(ConsoleMatch(rb"two"), session.deadline(1))
    assert session.read() == b"one\ntwo\n"
    assert 0.002 <= session.counters.virtual_seconds < 0.0035


def test_a_flood_is_passed_on_whole_and_its_end_is_found(opened):
    line = "x" * 94
    session = opened("flood", f'LINE "{line}\\n"')
    assert session.run(ConsoleMatch(rb"xyz|late"), session.deadline(30)) is Stop.CONDITION
    assert session.read() == b"early\n" + f"{line}\n".encode() * 2000 + b"late\n"


@pytest.mark.parametrize("text", ["x", "\\n", "a line of text\\n"])
def test_an_image_that_prints_without_end_ends_at_its_guard(opened, text):
    session = opened("prints_for_ever", f'TEXT "{text}"')
    begun = time.monotonic()
    assert session.run(None, session.deadline(1000, guard=0.5)) is Stop.GUARD
    assert time.monotonic() - begun < 10
    assert session.read()


# -- time -----------------------------------------------------------------------------------------


def test_an_elapsed_time_and_a_count_are_exact(opened):
    session = opened("computes")
    assert session.run(Elapsed(0.0005), session.deadline(1)) is Stop.CONDITION
    assert session.counters.virtual_seconds == 0.0005
    assert session.counters.instructions == 32_000
    assert session.run(Executed(1000), session.deadline(1)) is Stop.CONDITION
    assert session.counters.instructions == 33_000


@pytest.mark.parametrize("until", [Elapsed(0.5), Executed(10**9), None])
def test_a_deadline_comes_before_a_condition(opened, until):
    session = opened("computes")
    assert session.run(until, session.deadline(0.02)) is Stop.DEADLINE
    assert session.counters.virtual_seconds == 0.02


def test_length_of_slices_does_not_change_virtual_time(opened, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._SLICE_MS", 1)
    session = opened("computes")
    assert session.run(Elapsed(0.1), session.deadline(5)) is Stop.CONDITION
    assert session.counters.virtual_seconds == 0.1
    assert session.counters.instructions == 6_400_000


def test_a_core_that_sleeps_is_left_alone_until_its_timer_and_woken_in_time(opened):
    session = opened("sleeps")
    assert session.run(None, session.deadline(200)) is Stop.IDLE
    (printed,) = session.console[:1]
    assert printed.data == b"up\n"
    assert abs(printed.time - 100) < 0.001
    assert session.counters.wall_seconds < 20


def test_a_count_that_a_sleeping_core_does_not_reach_takes_no_time(opened):
    session = opened("sleeps")
    session.run(None, session.deadline(1))
    before = session.counters.instructions
    assert session.run(Executed(5), session.deadline(50, guard=20)) is Stop.DEADLINE
    assert session.run(Executed(20), session.deadline(100, guard=20)) is Stop.CONDITION
    assert session.counters.instructions == before + 20


# -- resets ---------------------------------------------------------------------------------------


def test_a_pin_reset_starts_the_image_again_and_instructions_go_on(opened):
    session = opened("boots")
    session.run(None, session.deadline(1))
    first = session.counters.instructions
    session.reset()
    assert session.run(None, session.deadline(1)) is Stop.IDLE
    assert session.read() == b"boot\nok\n" * 2
    assert (session.counters.instructions, session.counters.resets) == (2 * first, 1)


def test_resets_by_the_pin_are_not_those_of_a_loop(opened):
    session = opened("reset_in_a_call")
    for _ in range(20):
        session.reset()
    assert session.run(None, session.deadline(1)) is Stop.RESET_LOOP
    assert session.counters.resets == 20 + 16


def test_an_image_that_resets_itself_without_end_is_stopped(opened):
    session = opened("reset_in_a_call")
    assert session.run(None, session.deadline(1)) is Stop.RESET_LOOP
    assert session.counters.resets == 16


def test_masks_do_not_outlive_their_case(opened, server):
    session = opened("masks")
    session.run(None, session.deadline(0.002))
    session.close()
    machines = server.machines
    session = opened("sleeps")
    assert session.run(ConsoleMatch(b"up"), session.deadline(200)) is Stop.CONDITION
    assert server.machines == machines


def test_a_symbol_is_reached_once_each_time(opened):
    session, stops = opened("recursion"), []
    for name in ("Reset", *["Watched"] * 6):
        stop = session.run(SymbolReached(name), session.deadline(1))
        stops.append((stop, session.registers["r0"] if name == "Watched" else None))
    reached = [(Stop.CONDITION, argument) for argument in (None, 3, 2, 1, 0, 0)]
    assert stops[:-1] == reached
    assert stops[-1][0] is Stop.IDLE


# -- calls ----------------------------------------------------------------------------------------


def calls_on(session, image) -> list[tuple]:
    session.watch_calls([image.symbol("Watched").address])
    session.run(None, session.deadline(0.1))
    return [
        (call.argument, call.caller, call.sp, call.exception, call.result) for call in session.calls
    ]


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_those_on_the_simulator(opened, build, name):
    on_renode = calls_on(opened(name), build(name))
    assert on_renode == calls_on(opened(name, target="simulator"), build(name))
    assert on_renode or name == "reset_in_a_call"


def test_a_call_begins_and_ends_inside_of_its_caller(opened, build):
    session = opened("recursion")
    calls_on(session, build("recursion"))
    outer, inner = session.calls[:2]
    assert outer.begun < inner.begun < inner.ended < outer.ended


def test_a_run_to_a_watched_function_leaves_it_watched(opened, build):
    session = opened("recursion")
    session.watch_calls([build("recursion").symbol("Watched").address])
    assert session.run(SymbolReached("Watched"), session.deadline(1)) is Stop.CONDITION
    session.run(None, session.deadline(1))
    assert [call.argument for call in session.calls] == [3, 2, 1, 0, 0]


# -- what the core may do -------------------------------------------------------------------------


def test_a_log_that_floods_is_bounded(opened):
    session = opened("unmodelled")
    session.run(None, session.deadline(1))
    found = [one for one in session.findings if one.kind is Kind.UNMODELLED_ACCESS]
    assert 900 < len(found) <= 1000


def test_faults_without_end_are_bounded_and_the_first_ones_have_their_state(opened):
    session = opened("faults_without_end")
    session.run(None, session.deadline(1))
    assert [fault.state is not None for fault in session.faults] == [True] * 16 + [False] * 184


def test_the_console_is_told_before_a_fault_and_before_a_core_that_ends(opened):
    session = opened("branch_outside_memory")
    assert session.run(None, session.deadline(1, guard=20)) is Stop.LOCKUP
    assert session.read() == b"a prompt"
    assert session.console[0].time <= session.faults[0].time


def test_state_of_a_stopped_core_is_that_on_the_simulator(opened, build):
    told = []
    for target in ("renode", "simulator"):
        session = opened("on_a_process_stack", target=target)
        assert session.run(SymbolReached("Inner"), session.deadline(1)) is Stop.CONDITION
        state, reporter = session.core_state, StateReporter(build("on_a_process_stack"))
        told.append((state.registers[13:16], state.mpu, state.vectors, state.threads,
                     reporter.place(state), reporter.threads(state)))  # fmt: skip
    assert told[0] == told[1]


# -- pins and input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pin", "level", "read"),
    [(6, True, True), (6, False, False), (6, None, True), (7, True, True), (7, None, False),
     (2, None, True)],
)  # fmt: skip
def test_a_pin_is_driven_and_goes_back_to_its_pull_or_output(opened, pin, level, read):
    session = opened("pins")
    session.run(None, session.deadline(1))
    if pin != 2:
        session.pins.drive(pin, not read)
        session.pins.drive(pin, level)
        assert session.memory.word(0x50842510) >> pin & 1 == read
    assert session.pins.read(pin) is read


@pytest.mark.parametrize("size", [1, 2, 100])
def test_input_longer_than_the_receive_buffer_arrives_whole(opened, size):
    session = opened("receives", f"SIZE {size}")
    session.run(ConsoleMatch(b"ready"), session.deadline(1))
    session.write(bytes(n * 7 & 0xFF for n in range(600)))
    assert session.run(ConsoleMatch(b"sum=.*\n"), session.deadline(0.2)) is Stop.CONDITION
    total = 0
    for n in range(600):
        total = total * 31 + (n * 7 & 0xFF) & 0xFFFFFFFF
    assert session.read().endswith(b"sum=%08x\n" % total)


# -- its own errors, and gdb ----------------------------------------------------------------------


def test_a_hook_that_fails_is_an_error_and_renode_serves_the_next_case(opened, server, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.server._MACHINES", 1000)  # in the same process
    session, starts = opened("undefined"), server.starts
    server.client.call("hil['agent'].exceptions.core = None")
    with pytest.raises(MonitorError, match="the agent failed in a hook: 'NoneType' object"):
        session.run(None, session.deadline(1))
    session.close()
    session = opened("boots")
    assert session.run(None, session.deadline(1)) is Stop.IDLE
    assert server.starts == starts


def test_a_call_that_the_agent_does_not_know_is_an_error(opened):
    session = opened("boots")
    with pytest.raises(MonitorError, match="no_such"):
        session.agent.call("no_such()")
    assert session.run(None, session.deadline(1)) is Stop.IDLE


def test_under_gdb_the_console_is_heard_over_a_reset(opened, server):
    session = opened("boots")
    session.agent.call("debugged()")
    server.client.command('emulation RunFor "0.001"')
    assert session.debug_console() == b"boot\nok\n"
    server.client.command("machine Reset")
    server.client.command('emulation RunFor "0.001"')
    assert (session.debug_console(), session.debug_console()) == (b"boot\nok\n", b"")
    session._not_reusable = True
